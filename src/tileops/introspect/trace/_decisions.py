"""From what observers are told to records."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from tileops.errors import DeviceFactsError
from tileops.introspect.fact_values import encode_facts
from tileops.introspect.trace._record import CallRecord, Loser
from tileops.ops._observers import Specialisation
from tileops.selection import Selection, Stage, Verdict


def records_of(event: Specialisation, place: str) -> Iterator[CallRecord]:
    """Yield a record per kernel request, or one record without a request."""
    common: dict[str, Any] = {
        "op": event.op,
        "module": event.module,
        "target": event.target,
        "empty": event.empty,
        "place": place,
        "seconds": round(event.seconds, 6),
        "error": None if event.error is None else _headline(event.error),
    }
    if not event.selections:
        yield CallRecord(**common)
    for position, selection in enumerate(event.selections):
        yield CallRecord(**common, position=position, **_decision(selection))


def _headline(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0].removesuffix(":")


def _decision(selection: Selection) -> dict[str, Any]:
    call: Any = selection.call
    table = selection.table
    selected = selection.selected
    origins = [table.origin, *(one.origin for one in table.candidates)]
    return {
        "interface": table.interface,
        "request": type(call).__name__,
        "facts": encode_facts(call),
        "device": None if call.device is None else str(call.device),
        "device_facts": _device_facts(call),
        "outcome": selection.outcome.value,
        "selected": None if selected is None else selected.key,
        "general": selected is not None and selected.candidate.implementation.general,
        "losers": [
            _loser(selection, one) for one in selection.verdicts if one.stage is not Stage.SELECTED
        ],
        "imports": sorted({one.module for one in origins if one.module is not None}),
        "command": selection.command(),
    }


def _loser(selection: Selection, verdict: Verdict) -> Loser:
    implementation = verdict.candidate.implementation
    selected = selection.selected
    edge = selected and selection.table.precedence.edge(verdict.key, selected.key)
    preferred = selected is None or edge is not None
    return Loser(
        verdict.key, verdict.stage.value, verdict.reason, implementation.general, preferred
    )


def _device_facts(call: Any) -> dict[str, int | None]:
    try:
        return dataclasses.asdict(call.device_facts())
    except DeviceFactsError:
        return {}
