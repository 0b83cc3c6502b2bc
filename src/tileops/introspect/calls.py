"""Concrete calls to try: random ones, and ones next to every number that the formulas name."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache

from tileops.introspect.formula import (
    DEVICE_FACTS,
    Domain,
    FactDomain,
    InterfaceModel,
    Machine,
    Term,
    Value,
    Values,
    compiled,
)

__all__ = ["interesting_values", "sample_calls"]

_FAR = 2**31
"""Numbers without a bound are drawn up to here."""


def sample_calls(
    model: InterfaceModel, count: int, seed: int = 0, around: Sequence[Values] = ()
) -> Iterator[Values]:
    """Yield *count* calls of the domain: three in four of their numbers boundaries, else random.

    Equal arguments give equal calls. Where the domain has fewer calls, some repeat.

    Args:
        model: The interface.
        count: How many.
        seed: Of the random choices.
        around: Calls to stay near: every other call differs from one of them in few facts.
    """
    chance = random.Random(seed)
    values = interesting_values(model)
    possible = compiled(model.domain.possible)
    made = 0
    for _ in range(100 * count):
        if made == count:
            return
        call = _drawn(model.domain, values, chance)
        if around and chance.random() < 0.5:
            names = chance.sample(list(call), min(len(call), chance.randint(1, 3)))
            call = {**chance.choice(around), **_changed(call, names)}
        if possible(call):
            made += 1
            yield call


def _drawn(
    domain: Domain, values: Mapping[str, Sequence[Value]], chance: random.Random
) -> dict[str, Value]:
    machine: Machine = chance.choice(domain.machines)
    call = machine.values()
    for one in domain.facts:
        exact = chance.random() < 0.75
        call[one.name] = (
            chance.choice(values[one.name]) if exact or one.kind == "choice" else _any(one, chance)
        )
    return call


def _changed(call: Values, names: Sequence[str]) -> Values:
    """Return some facts of a call; the facts of its machine go together."""
    moved = {*names, *DEVICE_FACTS} if {*names} & {*DEVICE_FACTS} else {*names}
    return {name: value for name, value in call.items() if name in moved}


def _any(one: FactDomain, chance: random.Random) -> Value:
    if one.optional and chance.random() < 0.25:
        return None
    low, high = _bounds(one)
    if one.kind == "real":
        return Fraction(chance.uniform(float(low), float(high)))
    # Sizes are drawn by magnitude, or hardly any would be small.
    magnitude = 2 ** chance.uniform(0, max(high - low, 1).bit_length())
    return min(low + int(magnitude) - 1, high)


def _bounds(one: FactDomain) -> tuple[int, int]:
    low = -_FAR if one.low is None else int(one.low)
    high = _FAR if one.high is None else int(one.high)
    return low, max(low, high)


def interesting_values(model: InterfaceModel) -> Mapping[str, tuple[Value, ...]]:
    """Return, for each fact, the values at which formulas change or code tends to.

    These are every choice; for a number its default and bounds, the constants of the formulas with
    their multiples and quotients, and powers of two, each with its neighbours.
    """
    terms = [
        term for one in model.implementations for term in (one.serves, one.raises, one.unknown)
    ]
    constants = sorted({value for term in terms for value in _constants(term)})
    return {one.name: _near(one, constants) for one in model.domain.facts}


@cache
def _constants(term: Term) -> frozenset[int | Fraction]:
    if term.op in ("const", "in"):
        given = term.args if term.op == "const" else term.args[1:]
        return frozenset(
            value for value in given if isinstance(value, (int, Fraction)) and value is not True
        ) - {False}
    parts = [part for part in term.args if isinstance(part, Term)]
    return frozenset().union(*map(_constants, parts))


def _near(one: FactDomain, constants: Sequence[int | Fraction]) -> tuple[Value, ...]:
    if one.kind == "choice":
        return one.choices
    found: dict[Value, None] = {}
    if one.optional:
        found[None] = None
    numbers = [one.default, one.low, one.high, *constants]
    if one.kind == "int":
        small = [value for value in constants if 1 < value < 1024]
        numbers += [a * b for a in small for b in constants][:200]
        numbers += [b // a for a in small for b in constants][:200]
        numbers += [2**power for power in range(32)]
    for number in numbers:
        if number is None or isinstance(number, str):
            continue
        for near in _neighbours(one, number):
            if one.holds(near):
                found[near] = None
    return tuple(found)


def _neighbours(one: FactDomain, number: int | Fraction) -> tuple[Value, ...]:
    if one.kind == "int":
        floor = number // 1
        return (floor - 1, floor, floor + 1)
    # A fact of this kind is a float: the floats next to the number, not just any near value.
    value = float(number)
    around = (math.nextafter(value, -math.inf), value, math.nextafter(value, math.inf))
    return tuple(Fraction(near) for near in around)
