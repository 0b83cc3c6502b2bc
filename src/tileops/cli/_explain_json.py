"""The answer of ``tileops explain`` for programs; schemas/explain.json describes it."""

from __future__ import annotations

import dataclasses
from importlib.metadata import version
from typing import Any

from tileops.call_spec import spell
from tileops.introspect.explanation import Explanation, Group, InterfaceAnswer
from tileops.selection import Edge, Verdict

SCHEMA = "tileops.explain/1.0"


def explanation_record(answer: Explanation) -> dict[str, Any]:
    """Return the explanation as plain values."""
    choice = answer.target.choice
    return {
        "schema": SCHEMA,
        "tileops": version("tileops"),
        "op": answer.op,
        "answered": answer.answered,
        "every_board": answer.every_board,
        "target": {
            "target": None if choice is None else choice.target,
            "source": None if choice is None else choice.source,
            "problem": answer.target.problem,
            "registered": list(answer.target.registered),
        },
        "interfaces": [_interface_record(answer, one) for one in answer.interfaces],
    }


def _interface_record(answer: Explanation, one: InterfaceAnswer) -> dict[str, Any]:
    decided = {
        edge
        for group in one.groups
        for verdict in group.selection.verdicts
        for edge in verdict.edges
    }
    precedence = one.table.precedence
    return {
        "interface": one.table.interface,
        "request": type(one.call).__name__,
        "facts": {
            name: {"value": _plain(value), "default": name in answer.defaulted}
            for name, value in one.call.facts().items()
        },
        "groups": [_group_record(group) for group in one.groups],
        "precedence": {
            "general": precedence.general,
            "edges": [
                {**_edge_record(edge), "decided": edge in decided}
                for reached in precedence.edges.values()
                for edge in reached.values()
            ],
        },
    }


def _group_record(group: Group) -> dict[str, Any]:
    selection = group.selection
    selected = selection.selected
    call: Any = selection.call
    return {
        "places": list(group.places),
        "assumed_board": group.assumed_board,
        "device_type": call.device_type,
        "device_facts": dataclasses.asdict(call.device_facts()),
        "outcome": selection.outcome.value,
        "selected": None if selected is None else selected.key,
        "verdicts": [_verdict_record(verdict) for verdict in selection.verdicts],
        "command": selection.command(),
    }


def _verdict_record(verdict: Verdict) -> dict[str, Any]:
    candidate = verdict.candidate
    location = candidate.location()
    return {
        "key": verdict.key,
        "stage": verdict.stage.value,
        "reason": verdict.reason,
        "implementation": f"{candidate.implementation.__module__}.{candidate.name}",
        "location": None if location is None else str(location),
        "distribution": candidate.origin.distribution,
        "module": candidate.origin.module,
        "general": candidate.implementation.general,
        "edges": [_edge_record(edge) for edge in verdict.edges],
    }


def _edge_record(edge: Edge) -> dict[str, Any]:
    return {
        "winner": edge.winner,
        "loser": edge.loser,
        "kind": edge.kind.value,
        "path": list(edge.path),
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str, type(None))) else spell(value)
