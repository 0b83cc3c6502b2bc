"""``--vary n=1..8192``: a fact that a map varies."""

from __future__ import annotations

import re

from tileops.call_spec import CallSpec, Range, facts_declared
from tileops.cli._failure import UsageFailure, shortened, unknown
from tileops.introspect.maps import Axis

_FORM = re.compile(r"([\w-]+)=(-?\d{1,18})\.\.(-?\d{1,18})\Z", re.ASCII)


def read_axis(text: str, spec: type[CallSpec]) -> Axis:
    """Return the axis that a word names.

    Raises:
        UsageFailure: It is no axis, or the call spec has no such integer fact.
    """
    match = _FORM.match(text)
    if match is None:
        raise UsageFailure(
            f"--vary takes fact=low..high, whole numbers, got {shortened(text)}",
            remedy="--vary n=1..8192",
        )
    name, low, high = match[1].replace("-", "_"), int(match[2]), int(match[3])
    facts = {one.name: one for one in facts_declared(spec)}
    numbers = {name: one for name, one in facts.items() if one.kind is int}
    if name in facts and name not in numbers:
        raise UsageFailure(
            f"--vary takes an integer fact, and {name} is none",
            remedy=f"integer facts: {', '.join(numbers) or 'none'}",
        )
    if name not in numbers:
        raise unknown("integer fact", name, numbers)
    if low > high:
        raise UsageFailure(f"--vary {text}: {low} is above {high}")
    stated = numbers[name].range
    if stated is not None and (low not in stated or high not in stated):
        raise _outside(Axis(name, low, high), stated)
    return Axis(name, low, high)


def _outside(axis: Axis, stated: Range) -> UsageFailure:
    """Say which end of an axis lies outside the range, and name the span inside it."""
    least, most = int(stated.low), None if stated.high is None else int(stated.high)
    low = max(axis.low, least)
    high = axis.high if most is None else min(axis.high, most)
    asked = f"--vary {axis.fact}={axis.low}..{axis.high}"
    if low > high:
        return UsageFailure(f"{asked}: {axis.fact} must be {stated}")
    wrong = [f"the low end must be {least} or more, got {axis.low}"] if low != axis.low else []
    if high != axis.high:
        wrong.append(f"the high end must be {most} or less, got {axis.high}")
    remedy = f"--vary {axis.fact}={low}..{high}"
    return UsageFailure(f"{asked}: {' and '.join(wrong)}", remedy=remedy)
