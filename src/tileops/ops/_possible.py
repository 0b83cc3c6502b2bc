"""Whether an op can make a call: the facts have their types and ranges, and the spec allows it.

A call spec accepts anything when it is constructed, so that it can be asked about. Nothing is
answered about a call that no op makes, and nothing is built for one.
"""

from __future__ import annotations

import enum
import math
from typing import Any
from weakref import WeakKeyDictionary

import torch

from tileops.call_spec import CallSpec, Fact, facts_declared
from tileops.errors import ImpossibleCallError
from tileops.errors.wording import shown

__all__ = ["check_possible"]

_NAMES = {
    bool: "a bool",
    float: "a finite number",
    int: "an int",
    str: "a str",
    torch.dtype: "a dtype",
}

_facts: WeakKeyDictionary[type[CallSpec], tuple[Fact, ...]] = WeakKeyDictionary()


def check_possible(op: str, interface: str, call: CallSpec) -> None:
    """Check that an op can make a call.

    Raises:
        ImpossibleCallError: A fact has another type or lies outside its range, or the call spec
            says why no op makes such a call.
    """
    problem = _impossible(call)
    if problem is not None:
        raise ImpossibleCallError(op=op, interface=interface, problem=problem)


def _impossible(call: CallSpec) -> str | None:
    facts = _declared(type(call))
    for fact in facts:
        value = getattr(call, fact.name)
        wanted = _wanted(fact)
        if wanted is not None and not _fits(fact, value):
            kind = type(value).__name__
            return f"{fact.name} must be {wanted}, got {shown(value)} ({kind})"
    reason = call.impossible()
    if reason is not None:
        return reason
    for fact in facts:
        value = getattr(call, fact.name)
        if fact.range is not None and value is not None and value not in fact.range:
            return f"{fact.name} must be {fact.range}, got {value}"
    return None


def _declared(spec: type[CallSpec]) -> tuple[Fact, ...]:
    facts = _facts.get(spec)
    if facts is None:
        facts = _facts[spec] = facts_declared(spec)
    return facts


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
        return type(value) is not bool and isinstance(value, int | float) and math.isfinite(value)
    # A bool counts as an int in Python and is a mistake in a call.
    return isinstance(value, fact.kind) and (fact.kind is bool or not isinstance(value, bool))
