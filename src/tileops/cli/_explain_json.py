"""The answer of ``tileops explain`` for programs; schemas/explain.json describes it."""

from __future__ import annotations

import dataclasses
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from tileops.backend import LoadFailure
from tileops.call_spec import spell
from tileops.cli._render import without_roots
from tileops.introspect.explanation import Explanation, Group, InterfaceAnswer, TensorCall
from tileops.introspect.formula import exact
from tileops.selection import Edge, Verdict
from tileops.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from tileops.introspect.why_not import WhyNot

SCHEMA = "tileops.explain/1.3"


def explanation_record(answer: Explanation) -> dict[str, Any]:
    """Return the explanation as plain values."""
    choice = answer.target.choice
    return {
        "schema": SCHEMA,
        "tileops": version("tileops"),
        "op": answer.op,
        "answered": answer.answered,
        "every_board": answer.every_board,
        "call": None if answer.call is None else _call_record(answer.call),
        "target": {
            "target": None if choice is None else choice.target,
            "source": None if choice is None else choice.source,
            "problem": answer.target.problem,
            "registered": list(answer.target.registered),
        },
        "supposing": list(answer.supposing),
        "load_failures": [_failure_record(one) for one in answer.load_failures],
        "interfaces": [_interface_record(answer, one) for one in answer.interfaces],
        "impossible": dict(answer.impossible),
    }


def _call_record(call: TensorCall) -> dict[str, Any]:
    bound = call.bound
    return {
        "workload": call.workload,
        "inputs": {
            name: None if spec is None else _tensor_record(spec)
            for name, spec in bound.inputs.items()
        },
        "params": {
            name: {"value": _plain(value), "default": name in call.defaulted}
            for name, value in bound.params.items()
        },
        "empty": bound.empty,
    }


def _tensor_record(spec: TensorSpec) -> dict[str, Any]:
    return {
        "dtype": spell(spec.dtype),
        "shape": list(spec.shape),
        "stride": None if spec.stride is None else list(spec.stride),
    }


def _failure_record(failure: LoadFailure) -> dict[str, Any]:
    return {
        "name": failure.name,
        "module": failure.value,
        "distribution": failure.distribution,
        "error": without_roots(f"{type(failure.error).__name__}: {failure.error}"),
    }


def _interface_record(answer: Explanation, one: InterfaceAnswer) -> dict[str, Any]:
    return {
        "interface": one.table.interface,
        "request": type(one.call).__name__,
        "facts": {
            name: {"value": _plain(value), "default": name in answer.defaulted}
            for name, value in one.call.facts().items()
        },
        "groups": [_group_record(group) for group in one.groups],
        "precedence": {
            "general": one.table.precedence.general,
            "edges": [{**_edge_record(edge), "decided": edge in one.decided} for edge in one.edges],
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
        "verdicts": [
            _verdict_record(verdict, reason, group)
            for verdict, reason in zip(selection.verdicts, group.reasons, strict=True)
        ],
        "command": selection.command(),
        "why_not": None if group.why_not is None else _why_not_record(group.why_not),
    }


def _verdict_record(verdict: Verdict, reason: str | None, group: Group) -> dict[str, Any]:
    candidate = verdict.candidate
    location = candidate.location()
    return {
        "key": verdict.key,
        "stage": verdict.stage.value,
        "reason": reason,
        "implementation": f"{candidate.implementation.__module__}.{candidate.name}",
        "location": None if location is None else str(location),
        "distribution": candidate.origin.distribution,
        "module": candidate.origin.module,
        "general": candidate.implementation.general,
        "edges": [_edge_record(edge) for edge in verdict.edges],
        "conditions": [
            {
                "condition": one.whole,
                "holds": one.holds,
                "observed": one.observed,
                "location": one.place,
            }
            for one in group.conditions.get(verdict.key, ())
        ],
    }


def _why_not_record(found: WhyNot) -> dict[str, Any]:
    return {
        "key": found.key,
        "selected": found.selected,
        "unreachable": found.unreachable,
        "undecided": found.undecided,
        "changes": [
            {
                "facts": {
                    change.fact: {"old": exact(change.old), "new": exact(change.new)}
                    for change in one.changes
                },
                "board": one.board,
                "command": one.witness.selection.command(),
            }
            for one in found.found
        ],
    }


def _edge_record(edge: Edge) -> dict[str, Any]:
    return {
        "winner": edge.winner,
        "loser": edge.loser,
        "kind": edge.kind.value,
        "path": list(edge.path),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value if isinstance(value, (bool, int, float, str, type(None))) else spell(value)
