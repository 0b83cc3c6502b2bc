"""Calls with the same result that a refused key would be selected for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations, product
from typing import Any, Final

import torch

from tileops.call_spec import CallSpec, Fact, facts_declared
from tileops.ops._possible import impossibility
from tileops.selection import Outcome, Selection, select

__all__ = ["Repair", "repairs"]

Repair = Mapping[str, Any]
"""The facts that a caller would change, with their new values."""

_MOST_CHANGES: Final = 2

_DTYPES: Final = (torch.float16, torch.bfloat16, torch.float32)
"""What a caller can cast to; narrower dtypes need scales, and so another call."""

_MULTIPLES: Final = (2, 4, 8, 16, 32, 64, 128)

_PADDING: Final = 8
"""A size is padded by an eighth at most; more work than that is no repair."""


def repairs(selection: Selection, keys: Collection[str]) -> Mapping[str, Repair]:
    """Find how a caller could have *keys* selected without asking for something else.

    Tried are other dtypes, and other values of the facts that the call spec names `ADJUSTABLE`: a
    bool is turned around, a size padded to a multiple of a power of two. The real code is asked
    about every call that is tried, on the device of the call.

    Args:
        selection: What the call came to.
        keys: The keys that were refused.

    Returns:
        The smallest repair of each key that has one; fewest facts first.
    """
    call: Any = selection.call
    found: dict[str, Repair] = {}
    for changes in _changes(call):
        if len(found) == len(keys):
            break
        tried: CallSpec = call.with_facts(**changes)
        if impossibility(tried) is None:
            after = select(selection.table, tried)
            if after.outcome is Outcome.SELECTED and after.selected is not None:
                key = after.selected.key
                if key in keys:
                    found.setdefault(key, changes)
    return found


def _changes(call: CallSpec) -> Iterator[Repair]:
    values = {one.name: _values(call, one) for one in facts_declared(type(call))}
    names = [name for name, others in values.items() if others]
    for count in range(1, _MOST_CHANGES + 1):
        for changed in combinations(names, count):
            for new in product(*(values[name] for name in changed)):
                yield dict(zip(changed, new, strict=True))


def _values(call: CallSpec, fact: Fact) -> tuple[Any, ...]:
    """Return the other values that a caller could give a fact."""
    value = getattr(call, fact.name)
    if fact.kind is torch.dtype:
        return tuple(one for one in _DTYPES if one != value) if value in _CASTABLE else ()
    if fact.name not in call.ADJUSTABLE:
        return ()
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        padded = {-(-value // one) * one for one in _MULTIPLES} - {value}
        return tuple(sorted(one for one in padded if one <= value + value // _PADDING))
    return ()


_CASTABLE: Final = (*_DTYPES, torch.float64)
