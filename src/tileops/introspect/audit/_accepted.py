"""The calls that an inventory says may stay unserved."""

from __future__ import annotations

from collections.abc import Mapping

from tileops.introspect.formula import Term
from tileops.introspect.inventory import FamilyRecord, accepted_of

__all__ = ["AcceptedCalls", "accepted_calls"]

AcceptedCalls = Mapping[tuple[str, str], Mapping[str, Term]]
"""Conditions by their reason, by op and interface."""


def accepted_calls(families: Mapping[str, FamilyRecord]) -> AcceptedCalls:
    """Return what the records of an inventory accept."""
    return {
        (op, interface): accepted_of(record)
        for family in families.values()
        for op, found in family.ops.items()
        for interface, record in found.interfaces.items()
    }
