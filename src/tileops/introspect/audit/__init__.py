"""Auditing selection: what is proved of every possible call, and calls that show what is wrong."""

from __future__ import annotations

from tileops.introspect.audit._accepted import (
    AcceptedCalls,
    ProvidedCalls,
    accepted_calls,
    provided_calls,
)
from tileops.introspect.audit._findings import RULES, findings_of
from tileops.introspect.audit._interface import audit_interface
from tileops.introspect.audit._report import (
    Ambiguity,
    Audit,
    Dead,
    Doubt,
    Gap,
    IdlePreference,
    InterfaceAudit,
    PlaceAudit,
    Proof,
    Raising,
    Region,
)

__all__ = [
    "RULES",
    "AcceptedCalls",
    "Ambiguity",
    "Audit",
    "Dead",
    "Doubt",
    "Gap",
    "IdlePreference",
    "InterfaceAudit",
    "PlaceAudit",
    "Proof",
    "ProvidedCalls",
    "Raising",
    "Region",
    "accepted_calls",
    "audit_interface",
    "findings_of",
    "provided_calls",
]
