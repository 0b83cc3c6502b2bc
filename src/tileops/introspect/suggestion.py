"""The nearest change of a call that would select a given key, in words."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tileops.selection import Selection, SelectionTable

if TYPE_CHECKING:
    from tileops.introspect.formula import Machine
    from tileops.introspect.symbolic.exploration import Explored
    from tileops.introspect.why_not import Counterfactual

__all__ = ["suggestion"]

_log = logging.getLogger(__name__)


def suggestion(selection: Selection, key: str) -> str | None:
    """Say what would have to change for the call to select *key*.

    The change was asked of the real code. A change of the call is preferred to another device.

    Returns:
        The change, such as ``n 256 instead of 512``; None where none is found, where the analysis
        cannot decide, or where its solver is not installed.
    """
    try:
        from tileops.introspect.detail import machine_of
        from tileops.introspect.why_not import why_not

        call: Any = selection.call
        spec: Any = type(call)
        explored = _explored(selection.table, spec, machine_of(call))
        found = why_not(explored, explored.form.values(call), key).found
    except ImportError:
        return None
    except Exception:
        # Whatever the analysis stumbles over, the program it explains must not.
        _log.debug("no suggestion for %s", key, exc_info=True)
        return None
    best = min(found, key=lambda one: (_elsewhere(one), len(one.changes)), default=None)
    return None if best is None else _in_words(best)


@lru_cache(maxsize=64)
def _explored(table: SelectionTable, spec: type, machine: Machine) -> Explored:
    from tileops.introspect.symbolic.exploration import explore

    return explore(table, spec, (machine,))


def _elsewhere(change: Counterfactual) -> bool:
    from tileops.introspect.formula import DEVICE_FACTS

    return any(one.fact in DEVICE_FACTS for one in change.changes)


def _in_words(change: Counterfactual) -> str:
    from tileops.introspect.formula import DEVICE_FACTS, spell

    parts = [
        f"{one.fact} {spell(one.new)} instead of {spell(one.old)}"
        for one in change.changes
        if one.fact not in DEVICE_FACTS
    ]
    if _elsewhere(change):
        device = change.witness.values["device_type"]
        parts.append(f"on {change.board or f'a {device} device'}")
    return ", ".join(parts)
