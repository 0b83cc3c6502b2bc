"""Deciding every recorded call again with the code at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from tileops.introspect.fact_values import decode_facts
from tileops.introspect.trace._reader import RecordedCall, Recording
from tileops.introspect.trace._summary import served_by
from tileops.ops.op import Op
from tileops.selection import Selection, select


@dataclass(frozen=True)
class Change:
    """A recorded call that is decided otherwise now.

    Attributes:
        call: The call as recorded.
        now: The key or outcome now.
        selection: The decision now; None where the op or interface is gone.
        problem: Why it cannot be decided at all.
    """

    call: RecordedCall
    before: str
    now: str
    selection: Selection | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Replay:
    """The outcome of a replay: how many calls were decided again, and which changed."""

    decided: int
    skipped: int
    changes: tuple[Change, ...]


def replay(recording: Recording, find_op: Callable[[str], type[Op] | None]) -> Replay:
    """Decide every recorded kernel request again, with the recorded device facts.

    Calls that a target served carry no request and are skipped.

    Args:
        recording: The recording.
        find_op: Returns an op class by name, or None.
    """
    changes = []
    decided = skipped = 0
    for call in recording.calls:
        if call.record.interface is None:
            skipped += 1
            continue
        decided += 1
        change = _decide(call, find_op(call.record.op))
        if change is not None:
            changes.append(change)
    return Replay(decided, skipped, tuple(changes))


def _decide(call: RecordedCall, op: type[Op] | None) -> Change | None:
    record = call.record
    before = served_by(call)
    if op is None:
        return Change(call, before, "gone", problem=f"there is no op {record.op}")
    interface = record.interface or ""
    table = op.selection_tables().get(interface)
    if table is None:
        return Change(call, before, "gone", problem=f"{record.op} has no interface {interface!r}")
    spec = op.interfaces[interface].request
    facts = decode_facts(spec, record.facts)
    stated = {name: value for name, value in record.device_facts.items() if value is not None}
    device = None if record.device is None else torch.device(record.device)
    if device is not None and device.type == "cuda":
        # The recording states the facts of its device; this machine need not have one.
        device = None
    selection = select(table, spec(device=device, **stated, **facts))
    selected = selection.selected
    now = selection.outcome.value if selected is None else selected.key
    return None if now == before else Change(call, before, now, selection)
