"""Over two facts: a raster whose cells say whether they are proved to be uniform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tileops.introspect.formula import Values, negate
from tileops.introspect.maps._axis import IMPOSSIBLE, Axis, decided, fixed, holds
from tileops.introspect.symbolic.exploration import Explored
from tileops.introspect.symbolic.prover import Prover

__all__ = ["Cell", "Raster", "raster"]


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
    def steps(self) -> tuple[int, int]:
        """The numbers that columns and rows begin at multiples of, after the first."""
        return _step(self.columns), _step(self.rows)

    @property
    def proved_share(self) -> float:
        """The share of the plane's calls that lie in proved cells."""
        total = sum(_area(one) for one in self.cells)
        return sum(_area(one) for one in self.cells if one.proved) / total


def _step(ticks: Sequence[int]) -> int:
    return ticks[2] - ticks[1] if len(ticks) > 2 else 1


def _area(cell: Cell) -> int:
    return (cell.x[1] - cell.x[0] + 1) * (cell.y[1] - cell.y[0] + 1)


_MOST_PROOFS: Final = 600
"""Questions to the prover for one raster; cells beyond are only tried."""


def raster(explored: Explored, call: Values, x: Axis, y: Axis, size: int = 48) -> Raster:
    """Map the outcomes over two facts, in up to *size* columns and rows and one more."""
    columns, rows = _ticks(x, size), _ticks(y, size)
    outcomes = [
        [decided(explored, {**call, x.fact: a, y.fact: b})[1] for a in columns] for b in rows
    ]
    proved = _Proofs(explored, x, y, columns, rows, outcomes)
    with explored.prover.assuming(*fixed(explored, call, (x, y))):
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
    """Return where cells begin: at the low end, then at every multiple of a power of two.

    Kernels ask for sizes that are multiples of 8 or of 64. Corners at such numbers meet them
    wherever a cell is wide enough to have one.
    """
    width = axis.high - axis.low + 1
    step = 1 << (-(-width // size) - 1).bit_length()
    return (axis.low, *range((axis.low // step + 1) * step, axis.high + 1, step))


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
        return self._prover.find(across, up, negate(holds(self._explored, outcome))).proved_none
