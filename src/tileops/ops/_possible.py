"""Whether an op can make a call: the facts have their types and ranges, and the spec allows it.

A call spec accepts anything when it is constructed, so that it can be asked about. Nothing is
answered about a call that no op makes, and nothing is built for one.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any
from weakref import WeakKeyDictionary

import torch

from tileops.call_spec import CallSpec, Fact, Range, facts_declared
from tileops.device import FACT_NAMES
from tileops.errors import ImpossibleCallError, UnknownArgumentError
from tileops.errors.wording import shown
from tileops.ops._signature._arguments import LARGEST

__all__ = ["check_possible", "check_stated", "impossibility"]

_NAMES = {
    bool: "a bool",
    float: "a finite number",
    int: "an int",
    str: "a str",
    torch.dtype: "a dtype",
}

_BEYOND = 2**63
"""No tensor has such a size, and no kernel takes such an argument."""

_facts: WeakKeyDictionary[type[CallSpec], tuple[Fact, ...]] = WeakKeyDictionary()
_ranges: WeakKeyDictionary[type[CallSpec], tuple[tuple[str, Range], ...]] = WeakKeyDictionary()


def check_possible(op: str, interface: str, call: CallSpec, *, typed: bool = False) -> None:
    """Check that an op can make a call.

    Args:
        op: The op's name.
        interface: The interface's key in the op.
        call: The call.
        typed: Whether the facts come from the op itself, and so have their types.

    Raises:
        ImpossibleCallError: A fact has another type or lies outside its range, or the call spec
            says why no op makes such a call.
    """
    problem = impossibility(call, typed=typed)
    if problem is not None:
        raise ImpossibleCallError(op=op, interface=interface, problem=problem)


def impossibility(call: CallSpec, *, typed: bool = False) -> str | None:
    """Say why no op makes a call, or None.

    Args:
        call: The call.
        typed: Whether the facts are known to have their types.
    """
    return (None if typed else _mistyped(call)) or call.impossible() or _out_of_range(call)


def check_stated(op: str, stated: Iterable[str]) -> None:
    """Check the keywords that state facts of a device.

    Raises:
        UnknownArgumentError: One is no such fact.
    """
    for name in stated:
        if name not in FACT_NAMES:
            close = get_close_matches(name, FACT_NAMES, n=1, cutoff=0.4)
            raise UnknownArgumentError(
                op=op,
                tensor=name,
                requirement=f"device fact to state, such as {', '.join(FACT_NAMES)}",
                given=f"; did you mean {close[0]!r}?" if close else "",
            )


def _mistyped(call: CallSpec) -> str | None:
    for name, stated in call.stated_facts().items():
        if not isinstance(stated, int) or isinstance(stated, bool) or stated < 1:
            return f"{name} must be an int of 1 or more, got {shown(stated)}"
        if stated >= _BEYOND:
            return f"{name} must be an int below 2**63, got {shown(stated)}"
    for fact in _declared(type(call)):
        value = getattr(call, fact.name)
        wanted = _wanted(fact)
        if wanted is not None and not _fits(fact, value):
            kind = type(value).__name__
            return f"{fact.name} must be {wanted}, got {shown(value)} ({kind})"
        if fact.kind is int and value is not None and not -_BEYOND <= value < _BEYOND:
            return f"{fact.name} must be an int of 64 bits, got {shown(value)}"
        if fact.kind is float and value is not None and abs(value) > LARGEST:
            return f"{fact.name} must be at most 2**127 in magnitude, got {shown(value)}"
    return None


def _out_of_range(call: CallSpec) -> str | None:
    for name, allowed in _ranged(type(call)):
        value = getattr(call, name)
        # Written out, since every call of a new size asks this of each of its sizes.
        low, high = allowed.low, allowed.high
        if value is not None and not (low <= value and (high is None or value <= high)):
            return f"{name} must be {allowed}, got {value}"
    return None


def _declared(spec: type[CallSpec]) -> tuple[Fact, ...]:
    facts = _facts.get(spec)
    if facts is None:
        facts = _facts[spec] = facts_declared(spec)
    return facts


def _ranged(spec: type[CallSpec]) -> tuple[tuple[str, Range], ...]:
    ranges = _ranges.get(spec)
    if ranges is None:
        stated = [(one.name, one.range) for one in _declared(spec)]
        ranges = _ranges[spec] = tuple([(name, one) for name, one in stated if one is not None])
    return ranges


def _wanted(fact: Fact) -> str | None:
    """Return the type of a fact in words, or None where it is no plain one."""
    kind: Any = fact.kind
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return f"a {kind.__name__}"
    name = _NAMES.get(kind)
    return f"{name} or None" if name is not None and fact.optional else name


def _fits(fact: Fact, value: Any) -> bool:
    if value is None:
        return fact.optional
    if fact.kind is float:
        return type(value) is not bool and isinstance(value, int | float) and _finite(value)
    # A bool counts as an int in Python and is a mistake in a call.
    return isinstance(value, fact.kind) and (fact.kind is bool or not isinstance(value, bool))


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # An int that no float holds.
        return False
