"""What an inventory says of calls without a kernel: which may stay so, and which had one."""

from __future__ import annotations

from collections.abc import Mapping

from tileops.introspect.formula import Term, all_of, any_of
from tileops.introspect.inventory import FamilyRecord, accepted_of, available_of

__all__ = ["AcceptedCalls", "ProvidedCalls", "accepted_calls", "provided_calls"]

AcceptedCalls = Mapping[tuple[str, str], Mapping[str, Term]]
"""Conditions by their reason, by op and interface."""

ProvidedCalls = Mapping[tuple[str, str], Term]
"""Where some key was available, by op and interface."""


def accepted_calls(families: Mapping[str, FamilyRecord]) -> AcceptedCalls:
    """Return what the records of an inventory accept."""
    return {
        (op, interface): accepted_of(record)
        for family in families.values()
        for op, found in family.ops.items()
        for interface, record in found.interfaces.items()
    }


def provided_calls(families: Mapping[str, FamilyRecord]) -> ProvidedCalls:
    """Return where the records of an inventory have some key that is available."""
    return {
        (op, interface): any_of(
            all_of(available_of(key.devices, key.archs)) for key in record.keys.values()
        )
        for family in families.values()
        for op, found in family.ops.items()
        for interface, record in found.interfaces.items()
    }
