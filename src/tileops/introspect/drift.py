"""Comparing ops as they are with the inventory that is written down, and bringing it up to date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tileops.errors import DispatchError
from tileops.introspect.audit import InterfaceAudit, accepted_calls, audit_interface, provided_calls
from tileops.introspect.collection import Tables, explore_op, families
from tileops.introspect.diff import InventoryDiff, diff
from tileops.introspect.formula import FALSE, Term, all_of, write
from tileops.introspect.inventory import AcceptedRecord, FamilyRecord
from tileops.ops.op import Op

__all__ = ["BrokenOp", "Drift", "drift", "updated"]

Families = Mapping[str, FamilyRecord]


@dataclass(frozen=True)
class BrokenOp:
    """An op of which nothing can be written down, and why."""

    op: str
    problem: str


@dataclass(frozen=True)
class Drift:
    """How ops differ from their inventory.

    Attributes:
        broken: Ops that cannot be constructed.
        changes: What means something else than what is written.
        audits: Interfaces with something to mend, beyond what the inventory accepts.
        ops: How many ops were compared.
    """

    broken: tuple[BrokenOp, ...]
    changes: InventoryDiff
    audits: tuple[InterfaceAudit, ...]
    ops: int

    @property
    def none(self) -> bool:
        """Whether the inventory says what is."""
        return not (self.broken or self.changes.interfaces or self.audits)


def drift(ops: Iterable[type[Op]], written: Families, tables: Tables) -> Drift:
    """Compare ops with what is written about them, by meaning."""
    sound, broken = _sound(ops)
    now = families(sound, _accepted(written), tables)
    accepted, provided = accepted_calls(written), provided_calls(written)
    audits = [
        audit_interface(
            found, accepted.get((op.__name__, name)), provided.get((op.__name__, name), FALSE)
        )
        for op in sound
        for name, found in explore_op(op, tables).items()
    ]
    return Drift(
        broken,
        diff(written, now),
        tuple(one for one in audits if one.ambiguities or one.raising or _open_gaps(one)),
        len(sound),
    )


def _open_gaps(audit: InterfaceAudit) -> bool:
    return any(one.accepted is None for one in audit.gaps)


def updated(
    ops: Iterable[type[Op]], written: Families, tables: Tables
) -> tuple[Families, tuple[BrokenOp, ...]]:
    """Write ops down anew, and accept the calls that are unserved now.

    Reasons that were written stay with the calls that are still unserved.
    """
    sound, broken = _sound(ops)
    accepted = accepted_calls(written)
    before = _accepted(written)
    after: dict[tuple[str, str], list[AcceptedRecord]] = {}
    for op in sound:
        for name, found in explore_op(op, tables).items():
            place = (op.__name__, name)
            audit = audit_interface(found, accepted.get(place))
            after[place] = _accepted_now(audit, before.get(place, []), accepted.get(place, {}))
    return families(sound, after, tables), broken


def _accepted_now(
    audit: InterfaceAudit, before: list[AcceptedRecord], reasons: Mapping[str, Term]
) -> list[AcceptedRecord]:
    still = {one.accepted for one in audit.gaps}
    kept = [one for one, reason in zip(before, reasons, strict=True) if reason in still]
    new = [one for one in audit.gaps if one.accepted is None and one.region.conditions]
    return [*kept, *(AcceptedRecord(write(all_of(one.region.conditions))) for one in new)]


def _accepted(written: Families) -> dict[tuple[str, str], list[AcceptedRecord]]:
    return {
        (op, interface): record.accepted
        for family in written.values()
        for op, found in family.ops.items()
        for interface, record in found.interfaces.items()
    }


def _sound(ops: Iterable[type[Op]]) -> tuple[list[type[Op]], tuple[BrokenOp, ...]]:
    """Part the ops that can be constructed from those that cannot."""
    sound, broken = [], []
    for op in ops:
        try:
            op.selection_tables()
        except DispatchError as error:
            broken.append(BrokenOp(op.__name__, str(error)))
        else:
            sound.append(op)
    return sound, tuple(broken)
