"""The plainest call that satisfies a formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from tileops.introspect.formula import (
    FactDomain,
    Machine,
    Term,
    Value,
    Values,
    all_of,
    compare,
    const,
    fact,
    is_none,
    member,
    negate,
)
from tileops.introspect.symbolic.prover import Answer, Prover

__all__ = ["equals", "minimal", "nearest"]


def minimal(prover: Prover, *terms: Term) -> Answer:
    """Look for the plainest call that satisfies *terms*.

    Fact by fact, the device's first: the default where that leaves a call, else the least value
    that does, of a number the least from zero on. The same question always gives the same call.
    """
    return _settled(prover, terms, lambda one: one.default, prover.domain.machines)


def nearest(prover: Prover, to: Values, *terms: Term) -> Answer:
    """Look for a call that satisfies *terms*, fact by fact as near to the call *to* as can be."""
    here = [one for one in prover.domain.machines if one.values().items() <= to.items()]
    machines = (*here[:1], *prover.domain.machines)
    return _settled(prover, terms, lambda one: to.get(one.name, one.default), machines, near=True)


def _settled(
    prover: Prover,
    terms: Iterable[Term],
    wish: Callable[[FactDomain], Value],
    machines: Iterable[Machine],
    near: bool = False,
) -> Answer:
    levels = 1
    prover.enter(*(prover.translation(term) for term in terms))
    try:
        answer = prover.find()
        if answer.values is None:
            return answer
        for machine in machines:
            there = prover.find(machine.condition())
            if there.found:
                answer = there
                prover.enter(prover.translation(machine.condition()))
                levels += 1
                break
        for one in prover.domain.facts:
            if one.hidden:
                continue
            assert answer.values is not None
            search = _Search(prover, one, answer.values, near)
            answer = Answer(answer.status, search.settle(wish(one)))
            prover.enter(*search.pinned(answer.values))
            levels += 1
        return answer
    finally:
        prover.leave(levels)


class _Search:
    """The search for one fact's value, while the earlier facts are pinned.

    Args:
        prover: Assumes the formula and the pins.
        one: The fact.
        values: A call that satisfies them.
        near: Whether to stay near the wish rather than near the least value.
    """

    def __init__(self, prover: Prover, one: FactDomain, values: Values, near: bool) -> None:
        self._prover = prover
        self._fact = one
        self._best = values
        self._near = near

    def settle(self, wish: Value) -> Values:
        """Return the call with the best value of the fact."""
        name = self._fact.name
        if self._best[name] == wish or self._take(wish):
            return self._best
        if self._fact.kind == "choice" or self._fact.values:
            self._first_of(self._fact.choices)
        elif self._best[name] is not None:
            self._search_numbers(wish)
        return self._best

    def pinned(self, values: Values | None) -> list[Any]:
        """Return what fixes the fact to the value it has in a call."""
        assert values is not None
        return [self._prover.translation(equals(self._fact, values[self._fact.name]))]

    def _take(self, value: Value) -> bool:
        if not self._fact.holds(value):
            return False
        return self._improve(equals(self._fact, value))

    def _improve(self, term: Term) -> bool:
        answer = self._prover.find(term)
        if answer.values is not None:
            self._best = answer.values
        return answer.found

    def _first_of(self, values: Iterable[Value]) -> None:
        for value in values:
            if self._best[self._fact.name] == value or self._take(value):
                return

    def _search_numbers(self, wish: Value) -> None:
        if self._fact.kind == "real":
            self._first_of(self._real_candidates(wish))
        elif self._near and isinstance(wish, int):
            self._approach(wish)
        else:
            self._descend(max(0, int(self._fact.low or 0)))

    def _number(self) -> int:
        value = self._best[self._fact.name]
        assert isinstance(value, int)
        return value

    def _descend(self, low: int) -> None:
        """Bisect for the least value from *low* on, or the greatest below where there is none."""
        number = fact(self._fact.name)
        if self._number() < low and not self._improve(
            all_of([*self._some(), compare("ge", number, const(low))])
        ):
            self._ascend(low)
            return
        while low < self._number():
            middle = (low + self._number()) // 2
            between = self._between(low, middle)
            if not self._improve(between):
                low = middle + 1

    def _ascend(self, high: int) -> None:
        while self._number() < high:
            middle = (self._number() + high + 1) // 2
            if not self._improve(self._between(middle, high)):
                high = middle - 1

    def _approach(self, wish: int) -> None:
        """Bisect for the least distance from *wish*; of two equally near, the greater one."""
        distance = 1
        while distance < abs(self._number() - wish):
            found = abs(self._number() - wish)
            middle = (distance + found) // 2
            if not self._improve(self._between(wish - middle, wish + middle)):
                distance = middle + 1
        if self._number() < wish:
            self._take(2 * wish - self._number())

    def _between(self, low: int, high: int) -> Term:
        number = fact(self._fact.name)
        bounds = [compare("ge", number, const(low)), compare("le", number, const(high))]
        return all_of([*self._some(), *bounds])

    def _some(self) -> list[Term]:
        # The variable of a number has some value even where the fact is None.
        return [negate(is_none(self._fact.name))] if self._fact.optional else []

    def _real_candidates(self, wish: Value) -> list[Value]:
        """Return floats to try: round ones, and those next to where the formula changes."""
        found = self._best[self._fact.name]
        assert isinstance(found, (int, Fraction))
        bounds = [one for one in (self._fact.low, self._fact.high) if one is not None]
        value = float(found)
        around = [value, math.nextafter(value, math.inf), math.nextafter(value, -math.inf)]
        simple = [0.0, 1.0, 0.5, 2.0, 10.0, 100.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, -1.0]
        wished = [wish] if isinstance(wish, (int, Fraction)) else []
        shifted = [float(one) + step for one in wished for step in (0.5, -0.5, 1.0, -1.0)]
        numbers = [*wished, *simple, *bounds, *shifted, *around]
        return [Fraction(one) for one in numbers]


def equals(one: FactDomain, value: Value) -> Term:
    """Return that a fact has a value."""
    if one.kind == "choice" or one.optional:
        return member(one.name, (value,))
    assert isinstance(value, (int, Fraction))
    return compare("eq", fact(one.name), const(value))
