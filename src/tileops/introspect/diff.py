"""Comparing two inventories: which calls changed their outcome, from the formulas alone.

Neither torch nor the code that the inventories describe is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from tileops.introspect.formula import HIDDEN, Term, Values, facts_of, spell
from tileops.introspect.inventory import (
    FamilyRecord,
    InterfaceRecord,
    KeyRecord,
    OpRecord,
    model_of,
    provider,
    with_machines,
)
from tileops.introspect.options import explain_command

__all__ = ["Change", "InterfaceDiff", "InventoryDiff", "Kind", "compare_interfaces", "diff"]

_MOST_REGIONS: Final = 4


class Kind(Enum):
    """What became of an interface."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    SAME = "same"


@dataclass(frozen=True)
class Change:
    """Calls that came to one outcome and now come to another.

    Attributes:
        old: ``key:NAME``, ``unserved``, ``ambiguous`` or ``defective``.
        new: Likewise.
        conditions: What is true of these calls.
        witness: The plainest of them.
        command: The command that explains it.
    """

    old: str
    new: str
    conditions: tuple[Term, ...]
    witness: Values
    command: str

    @property
    def assumed(self) -> tuple[str, ...]:
        """The keys of which it is assumed whether they apply, since no formula says it."""
        names = {name for one in self.conditions for name in facts_of(one)}
        return tuple(sorted(n.removesuffix(HIDDEN) for n in names if n.endswith(HIDDEN)))


@dataclass(frozen=True)
class InterfaceDiff:
    """One interface in two inventories.

    Attributes:
        op: The op's class name.
        interface: The interface.
        kind: What became of it.
        changes: The calls that changed hands, a region each.
        more: Whether there are further regions of the same changes.
        declarations: What is declared differently, in words.
        workloads: Workloads of the manifest that come to something else, in words.
        not_compared: What no formula covers and whose code changed.
        undecided: Changes of outcome that are neither shown nor proved not to happen.
    """

    op: str
    interface: str
    kind: Kind
    changes: tuple[Change, ...] = ()
    more: bool = False
    declarations: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()


@dataclass(frozen=True)
class InventoryDiff:
    """Two inventories compared; interfaces that mean the same are left out."""

    interfaces: tuple[InterfaceDiff, ...]

    @property
    def same_selection(self) -> bool:
        """Whether it is proved that no call changed its outcome."""
        return not any(
            one.changes or one.not_compared or one.undecided or one.kind is not Kind.CHANGED
            for one in self.interfaces
        )


def diff(base: Mapping[str, FamilyRecord], head: Mapping[str, FamilyRecord]) -> InventoryDiff:
    """Compare every interface of two inventories."""
    old, new = _interfaces(base), _interfaces(head)
    found = []
    for place in sorted({*old, *new}):
        before, after = old.get(place), new.get(place)
        if before is None or after is None:
            found.append(InterfaceDiff(*place, Kind.ADDED if before is None else Kind.REMOVED))
        else:
            found.append(compare_interfaces(*place, before[1], after[1], after[0].imports))
    return InventoryDiff(tuple(one for one in found if one.kind is not Kind.SAME))


def _interfaces(
    families: Mapping[str, FamilyRecord],
) -> dict[tuple[str, str], tuple[OpRecord, InterfaceRecord]]:
    return {
        (op, interface): (found, record)
        for family in families.values()
        for op, found in with_machines(family).ops.items()
        for interface, record in found.interfaces.items()
    }


def compare_interfaces(
    op: str,
    interface: str,
    old: InterfaceRecord,
    new: InterfaceRecord,
    imports: tuple[str, ...] = (),
) -> InterfaceDiff:
    """Compare one interface: its declarations as data, its selection as formulas.

    Args:
        op: The op's class name.
        interface: The interface.
        old: The interface before.
        new: The interface after.
        imports: What a command must import to have the op.
    """
    declarations = (*_facts_declared(old, new), *_keys_declared(old, new))
    workloads = tuple(_workloads(old, new))
    if _meaning(old) == _meaning(new):
        kind = Kind.CHANGED if declarations or workloads else Kind.SAME
        return InterfaceDiff(op, interface, kind, declarations=declarations, workloads=workloads)
    from tileops.introspect._changes import Comparison

    comparison = Comparison(model_of(op, interface, old), model_of(op, interface, new))
    comparison.run(_not_compared(old, new), _MOST_REGIONS)
    keys = [one.module for one in new.keys.values() if one.module is not None]
    modules = sorted({*imports, *keys})
    changes = tuple(
        Change(
            a,
            b,
            r.conditions,
            r.witness,
            explain_command(op, interface, comparison.domain, r.witness, modules),
        )
        for a, b, r in comparison.found
    )
    said = (*declarations, *changes, *workloads, *comparison.not_compared, *comparison.undecided)
    return InterfaceDiff(
        op,
        interface,
        Kind.CHANGED if said else Kind.SAME,
        changes,
        comparison.more,
        declarations,
        workloads,
        comparison.not_compared,
        comparison.undecided,
    )


def _meaning(record: InterfaceRecord) -> object:
    """Return what decides the outcome of calls."""
    keys = [
        (
            key,
            one.devices,
            one.archs,
            one.general,
            one.preferred_over,
            one.serves,
            one.raises,
            one.unknown,
            one.source,
        )
        for key, one in record.keys.items()
    ]
    return record.machines, record.facts, record.possible, keys


def _facts_declared(old: InterfaceRecord, new: InterfaceRecord) -> Iterator[str]:
    before = {one.name: one for one in old.facts}
    after = {one.name: one for one in new.facts}
    for name in sorted({*before, *after}):
        if name not in after:
            yield f"fact {name} is gone"
        elif name not in before:
            yield f"fact {name} is new"
        elif before[name] != after[name]:
            yield f"fact {name} has other values"
    if old.possible != new.possible:
        yield "other calls are possible"


_DECLARED: Final = {
    "kernel": "class",
    "devices": "devices",
    "archs": "archs",
    "general": "general",
    "preferred_over": "preferred_over",
}


def _keys_declared(old: InterfaceRecord, new: InterfaceRecord) -> Iterator[str]:
    for key in dict.fromkeys((*old.keys, *new.keys)):
        if key not in new.keys:
            yield f"key {key} is gone"
        elif key not in old.keys:
            yield f"key {key} is new"
        else:
            yield from _key_declared(key, old.keys[key], new.keys[key])


def _key_declared(key: str, old: KeyRecord, new: KeyRecord) -> Iterator[str]:
    for field, name in _DECLARED.items():
        before, after = getattr(old, field), getattr(new, field)
        if before != after:
            yield f"{key}: {name} {_spelled(before)} -> {_spelled(after)}"
    was, now = provider(old.distribution), provider(new.distribution)
    # A key is had by import alone where its distribution is not installed.
    if was and now and was != now:
        yield f"{key}: distribution {was} -> {now}"


def _spelled(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return spell(value) if value is None or isinstance(value, (bool, str)) else str(value)


def _workloads(old: InterfaceRecord, new: InterfaceRecord) -> Iterator[str]:
    for name in sorted({*old.workloads} & {*new.workloads}):
        before, after = _by_board(old.workloads[name]), _by_board(new.workloads[name])
        moved: dict[tuple[str, str], list[str]] = {}
        for board in [board for board in before if board in after]:
            if before[board] != after[board]:
                moved.setdefault((before[board], after[board]), []).append(board)
        for (was, now), boards in moved.items():
            yield f"{name}: {was} -> {now} on {', '.join(boards)}"


def _by_board(outcomes: Mapping[str, str]) -> dict[str, str]:
    return {board: outcome for outcome, boards in outcomes.items() for board in boards.split()}


def _not_compared(old: InterfaceRecord, new: InterfaceRecord) -> dict[str, str]:
    """Return the keys whose code is not modelled and is another than it was, and why."""
    return {
        key: "; ".join([*old.keys[key].unmodelled, *new.keys[key].unmodelled])
        for key in old.keys
        if key in new.keys and old.keys[key].source != new.keys[key].source
    }
