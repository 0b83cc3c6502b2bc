"""A comparison of inventories for programs; schemas/diff.json describes it."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, Final

from tileops.cli._diff_text import outcome_text
from tileops.introspect.diff import Change, InterfaceDiff, InventoryDiff
from tileops.introspect.formula import HIDDEN, exact, render

SCHEMA: Final = "tileops.diff/1.0"


def diff_record(found: InventoryDiff) -> dict[str, Any]:
    """Return a comparison as plain values."""
    return {
        "schema": SCHEMA,
        "tileops": version("tileops"),
        "same_selection": found.same_selection,
        "interfaces": [interface_record(one) for one in found.interfaces],
    }


def interface_record(one: InterfaceDiff) -> dict[str, Any]:
    """Return the comparison of one interface."""
    return {
        "op": one.op,
        "interface": one.interface,
        "kind": one.kind.value,
        "declarations": list(one.declarations),
        "changes": [_change(change) for change in one.changes],
        "more_changes": one.more,
        "workloads": list(one.workloads),
        "not_compared": list(one.not_compared),
        "not_proved": list(one.undecided),
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "old": outcome_text(change.old),
        "new": outcome_text(change.new),
        "conditions": [render(one) for one in change.conditions],
        "assumed": list(change.assumed),
        "call": {
            name: exact(value)
            for name, value in change.witness.items()
            if not name.endswith(HIDDEN)
        },
        "command": change.command,
    }
