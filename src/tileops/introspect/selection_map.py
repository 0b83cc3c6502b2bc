"""Maps of selection: exact intervals along one fact, a raster with proved cells over two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tileops.introspect.boundaries import outcome_name
from tileops.introspect.formula import (
    TRUE,
    Term,
    Values,
    all_of,
    compare,
    const,
    fact,
    is_none,
    negate,
)
from tileops.introspect.symbolic.exploration import Explored, Witness
from tileops.introspect.symbolic.prover import Prover, Status
from tileops.introspect.symbolic.witness import equals

__all__ = ["IMPOSSIBLE", "Axis", "Cell", "Interval", "Raster", "SelectionLine", "line", "raster"]


@dataclass(frozen=True)
class Axis:
    """A fact that varies, both ends included."""

    fact: str
    low: int
    high: int

    def within(self, low: int, high: int) -> Term:
        """Return that the fact lies between two numbers."""
        number = fact(self.fact)
        return all_of([compare("ge", number, const(low)), compare("le", number, const(high))])


@dataclass(frozen=True)
class Interval:
    """The longest stretch of one outcome around it.

    Attributes:
        low: Its first number.
        high: Its last.
        outcome: The key, or the outcome where none is selected, or ``impossible``.
        witness: The call at its first number, as the real code decides it.
    """

    low: int
    high: int
    outcome: str
    witness: Witness


@dataclass(frozen=True)
class SelectionLine:
    """The intervals along one fact.

    Attributes:
        axis: The fact.
        call: The call that the other facts are taken from.
        intervals: The intervals, gapless.
        proved: Whether every interval is proved to be uniform; else the points were tried one
            by one, or *complete* is False.
        complete: Whether the intervals reach the end of the axis.
    """

    axis: Axis
    call: Values
    intervals: tuple[Interval, ...]
    proved: bool
    complete: bool


_MOST_POINTS: Final = 20_000
"""Axes with at most so many points are asked point by point, which is exact by itself."""

_MOST_INTERVALS: Final = 400


def line(explored: Explored, call: Values, axis: Axis) -> SelectionLine:
    """Map the outcomes along *axis*, the other facts as in *call*."""
    if axis.high - axis.low < _MOST_POINTS:
        return SelectionLine(axis, call, _tried(explored, call, axis), proved=True, complete=True)
    return _bisected(explored, call, axis)


IMPOSSIBLE: Final = "impossible"
"""The outcome of a call that no op makes."""


def _decided(explored: Explored, values: Values) -> tuple[Witness, str]:
    witness = explored.witness(values)
    impossible = explored.form.call(values).impossible() is not None
    return witness, IMPOSSIBLE if impossible else outcome_name(witness.selection)


def _tried(explored: Explored, call: Values, axis: Axis) -> tuple[Interval, ...]:
    found: list[Interval] = []
    for value in range(axis.low, axis.high + 1):
        witness, outcome = _decided(explored, {**call, axis.fact: value})
        if found and found[-1].outcome == outcome:
            last = found[-1]
            found[-1] = Interval(last.low, value, outcome, last.witness)
        else:
            found.append(Interval(value, value, outcome, witness))
    return tuple(found)


def _bisected(explored: Explored, call: Values, axis: Axis) -> SelectionLine:
    prover = explored.prover
    others = _others(explored, call, (axis,))
    found: list[Interval] = []
    low, proved = axis.low, True
    with prover.assuming(*others):
        while low <= axis.high and len(found) < _MOST_INTERVALS:
            witness, outcome = _decided(explored, {**call, axis.fact: low})
            differs = TRUE if outcome == IMPOSSIBLE else negate(_holds(explored, outcome))
            end, sure = _end(explored, axis, low, differs)
            proved = proved and sure
            found.append(Interval(low, end, outcome, witness))
            low = end + 1
    return SelectionLine(axis, call, tuple(found), proved, low > axis.high)


def _end(explored: Explored, axis: Axis, low: int, differs: Term) -> tuple[int, bool]:
    """Return where the outcome at *low* ends, and whether that is proved."""
    prover = explored.prover
    answer = prover.find(differs, axis.within(low, axis.high))
    if answer.values is None:
        return axis.high, answer.status is Status.NONE
    first = answer.values[axis.fact]
    assert isinstance(first, int)
    while low < first:
        middle = (low + first) // 2
        answer = prover.find(differs, axis.within(low, middle))
        if answer.values is not None:
            nearer = answer.values[axis.fact]
            assert isinstance(nearer, int)
            first = nearer
        elif answer.status is Status.NONE:
            low = middle + 1
        else:
            return first - 1, False
    return first - 1, True


def _holds(explored: Explored, outcome: str) -> Term:
    outcomes = explored.model.outcomes()
    if outcome == "no_device":
        outcome = "unserved"
    return outcomes.get(f"key:{outcome}") or outcomes[outcome]


def _others(explored: Explored, call: Values, axes: Sequence[Axis]) -> list[Term]:
    """Return what fixes the facts that do not vary; those that do are numbers."""
    varied = {one.fact for one in axes}
    return [
        (negate(is_none(one.name)) if one.name in varied else equals(one, call[one.name]))
        for one in explored.model.domain.all_facts
        if one.name not in varied or one.optional
    ]


@dataclass(frozen=True)
class Cell:
    """A rectangle of the plane, ends included.

    Attributes:
        x: The numbers it spans on the first axis.
        y: Likewise on the second.
        outcome: What the call in its lower corner comes to.
        proved: Whether the whole cell is proved to come to the same.
    """

    x: tuple[int, int]
    y: tuple[int, int]
    outcome: str
    proved: bool


@dataclass(frozen=True)
class Raster:
    """Cells that cover the plane of two facts.

    Attributes:
        axes: The two facts.
        call: The call that the other facts are taken from.
        columns: The numbers at which columns begin.
        rows: Likewise for rows.
        cells: The cells, row by row.
    """

    axes: tuple[Axis, Axis]
    call: Values
    columns: tuple[int, ...]
    rows: tuple[int, ...]
    cells: tuple[Cell, ...]

    @property
    def proved_share(self) -> float:
        """The share of the plane's calls that lie in proved cells."""
        total = sum(_area(one) for one in self.cells)
        return sum(_area(one) for one in self.cells if one.proved) / total


def _area(cell: Cell) -> int:
    return (cell.x[1] - cell.x[0] + 1) * (cell.y[1] - cell.y[0] + 1)


_MOST_PROOFS: Final = 600
"""Questions to the prover for one raster; cells beyond are only tried."""


def raster(explored: Explored, call: Values, x: Axis, y: Axis, size: int = 48) -> Raster:
    """Map the outcomes over two facts in about *size* columns and rows."""
    columns, rows = _ticks(x, size), _ticks(y, size)
    outcomes = [
        [_decided(explored, {**call, x.fact: a, y.fact: b})[1] for a in columns] for b in rows
    ]
    proved = _Proofs(explored, x, y, columns, rows, outcomes)
    with explored.prover.assuming(*_others(explored, call, (x, y))):
        proved.quarter(0, len(columns), 0, len(rows))
    cells = [
        Cell(
            _span(columns, i, x.high), _span(rows, j, y.high), outcomes[j][i], (i, j) in proved.sure
        )
        for j in range(len(rows))
        for i in range(len(columns))
    ]
    return Raster((x, y), call, columns, rows, tuple(cells))


def _ticks(axis: Axis, size: int) -> tuple[int, ...]:
    count = min(size, axis.high - axis.low + 1)
    width = axis.high - axis.low + 1
    return tuple(dict.fromkeys(axis.low + width * n // count for n in range(count)))


def _span(ticks: Sequence[int], place: int, high: int) -> tuple[int, int]:
    return ticks[place], ticks[place + 1] - 1 if place + 1 < len(ticks) else high


class _Proofs:
    """Proves cells uniform, the whole plane first, then its quarters.

    Attributes:
        sure: The columns and rows of the cells that are proved.
    """

    def __init__(
        self,
        explored: Explored,
        x: Axis,
        y: Axis,
        columns: Sequence[int],
        rows: Sequence[int],
        outcomes: Sequence[Sequence[str]],
    ) -> None:
        self._prover: Prover = explored.prover
        self._explored = explored
        self._axes = (x, y)
        self._ticks = (columns, rows)
        self._outcomes = outcomes
        self._left = _MOST_PROOFS
        self.sure: set[tuple[int, int]] = set()

    def quarter(self, left: int, right: int, low: int, high: int) -> None:
        """Prove the cells of a rectangle, dividing it where it is not uniform."""
        if left >= right or low >= high:
            return
        seen = {self._outcomes[j][i] for j in range(low, high) for i in range(left, right)}
        if len(seen) == 1 and self._left > 0:
            self._left -= 1
            if self._is_uniform(left, right, low, high, seen.pop()):
                self.sure |= {(i, j) for j in range(low, high) for i in range(left, right)}
                return
        if right - left == 1 and high - low == 1:
            return
        across, up = (left + right + 1) // 2, (low + high + 1) // 2
        self.quarter(left, across, low, up)
        self.quarter(across, right, low, up)
        self.quarter(left, across, up, high)
        self.quarter(across, right, up, high)

    def _is_uniform(self, left: int, right: int, low: int, high: int, outcome: str) -> bool:
        (x, y), (columns, rows) = self._axes, self._ticks
        across = x.within(columns[left], _span(columns, right - 1, x.high)[1])
        up = y.within(rows[low], _span(rows, high - 1, y.high)[1])
        if outcome == IMPOSSIBLE:
            return self._prover.find(across, up).proved_none
        return self._prover.find(across, up, negate(_holds(self._explored, outcome))).proved_none
