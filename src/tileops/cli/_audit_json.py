"""The answer of ``tileops audit`` for programs; schemas/audit.json describes it."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, Final

from tileops.introspect.audit import Audit, InterfaceAudit, Region
from tileops.introspect.formula import render
from tileops.selection import Candidate

SCHEMA: Final = "tileops.audit/1.0"


def audit_record(audit: Audit) -> dict[str, Any]:
    """Return the audit as plain values."""
    return {
        "schema": SCHEMA,
        "tileops": version("tileops"),
        "clean": audit.clean,
        "conclusive": audit.conclusive,
        "interfaces": [_interface(one) for one in audit.interfaces],
    }


def _interface(one: InterfaceAudit) -> dict[str, Any]:
    return {
        "op": one.op,
        "interface": one.interface,
        "keys": [_candidate(candidate) for candidate in one.candidates],
        "domain": one.domain.text(),
        "places": [
            {
                "place": place.place,
                "boards": list(place.boards),
                "available": list(place.available),
                "unambiguous": place.unambiguous.value,
                "served": place.served.value,
            }
            for place in one.places
        ],
        "ambiguities": [
            {
                "winner": clash.winner.key,
                "loser": clash.loser.key,
                "places": list(clash.places),
                "narrower": clash.narrower,
                "remedy": clash.remedy,
                "regions": [_region(region) for region in clash.regions],
            }
            for clash in one.ambiguities
        ],
        "unserved": [
            {"places": list(gap.places), "accepted": gap.accepted, **_region(gap.region)}
            for gap in one.gaps
        ],
        "more_unserved": one.more_gaps,
        "dead": [
            {
                "key": d.candidate.key,
                "applies": d.applies,
                "blockers": list(d.blockers),
                "command": None if d.witness is None else d.witness.selection.command(),
            }
            for d in one.dead
        ],
        "idle_preferences": [{"winner": i.winner.key, "loser": i.loser} for i in one.idle],
        "raising": [
            {"key": r.candidate.key, "problem": r.problem, **_region(r.region)} for r in one.raising
        ],
        "not_proved": [
            {"claim": d.claim, "reasons": [str(r) for r in d.reasons], "calls": d.calls}
            for d in one.doubts
        ],
        "unmodelled": [str(reason) for reason in one.unmodelled],
        "assumptions": list(one.assumptions),
    }


def _candidate(one: Candidate) -> dict[str, Any]:
    location = one.location()
    return {
        "key": one.key,
        "implementation": f"{one.implementation.__module__}.{one.name}",
        "location": None if location is None else str(location),
        "distribution": one.origin.distribution,
    }


def _region(region: Region) -> dict[str, Any]:
    selection = region.witness.selection
    return {
        "conditions": [render(term) for term in region.conditions],
        "call": selection.call.describe(),
        "command": selection.command(),
    }
