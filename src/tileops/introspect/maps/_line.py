"""Along one fact: exact intervals of equal outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tileops.introspect.formula import (
    TRUE,
    Term,
    Values,
    compiled,
    negate,
    substituted,
)
from tileops.introspect.maps._axis import IMPOSSIBLE, Axis, decided, fixed, holds
from tileops.introspect.symbolic.exploration import Explored, Witness
from tileops.introspect.symbolic.prover import Status

__all__ = ["Interval", "SelectionLine", "line"]


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


_MOST_CALLS: Final = 20_000
"""Axes with at most so many points are asked of the real code, call by call."""

_MOST_POINTS: Final = 300_000
"""Axes with at most so many are decided point by point by formulas, where these are whole."""

_MOST_INTERVALS: Final = 400


def line(explored: Explored, call: Values, axis: Axis) -> SelectionLine:
    """Map the outcomes along *axis*, the other facts as in *call*."""
    points = axis.high - axis.low + 1
    whole = not any(one.unmodelled for one in explored.model.implementations)
    if points <= _MOST_CALLS or (whole and points <= _MOST_POINTS):
        decide = _by_formula(explored, call, axis) if points > _MOST_CALLS else None
        intervals = _tried(explored, call, axis, decide)
        return SelectionLine(axis, call, intervals, proved=True, complete=True)
    return _bisected(explored, call, axis)


def _tried(
    explored: Explored, call: Values, axis: Axis, decide: Callable[[int], str] | None
) -> tuple[Interval, ...]:
    """Decide every point, by the real code unless a formula is given, and join equal ones."""

    def by_code(value: int) -> str:
        return decided(explored, {**call, axis.fact: value})[1]

    ask = decide or by_code
    starts: list[tuple[int, str]] = []
    for value in range(axis.low, axis.high + 1):
        outcome = ask(value)
        if not starts or starts[-1][1] != outcome:
            starts.append((value, outcome))
    ends = [low - 1 for low, _ in starts[1:]] + [axis.high]
    return tuple(
        Interval(low, high, *_confirmed(explored, {**call, axis.fact: low}, outcome))
        for (low, outcome), high in zip(starts, ends, strict=True)
    )


def _confirmed(explored: Explored, values: Values, outcome: str) -> tuple[str, Witness]:
    """Return what the real code says of the first call of an interval.

    Raises:
        AssertionError: It contradicts the formulas, which is a defect of the exploration.
    """
    witness, said = decided(explored, values)
    assert said == outcome, f"the formula says {outcome}, the code {said}"
    return outcome, witness


def _by_formula(explored: Explored, call: Values, axis: Axis) -> Callable[[int], str]:
    """Return the outcome along the axis as a function made of formulas."""
    model = explored.model

    def along(term: Term) -> Callable[[Values], bool]:
        for name, value in call.items():
            if name != axis.fact:
                term = substituted(term, name, value)
        return compiled(term)

    possible = along(model.domain.possible)
    outcomes = [(name.removeprefix("key:"), along(t)) for name, t in model.outcomes().items()]

    def decide(value: int) -> str:
        values = {axis.fact: value}
        if not possible(values):
            return IMPOSSIBLE
        return next(name for name, holds in outcomes if holds(values))

    return decide


def _bisected(explored: Explored, call: Values, axis: Axis) -> SelectionLine:
    prover = explored.prover
    others = fixed(explored, call, (axis,))
    found: list[Interval] = []
    low, proved = axis.low, True
    with prover.assuming(*others):
        while low <= axis.high and len(found) < _MOST_INTERVALS:
            witness, outcome = decided(explored, {**call, axis.fact: low})
            differs = TRUE if outcome == IMPOSSIBLE else negate(holds(explored, outcome))
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
