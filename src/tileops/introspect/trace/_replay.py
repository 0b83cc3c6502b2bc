"""Deciding every recorded call again with the code at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tileops.call_spec import CallSpec, facts_declared
from tileops.errors import TileopsError
from tileops.introspect.fact_values import decode_facts
from tileops.introspect.trace._reader import RecordedCall, Recording
from tileops.introspect.trace._record import CallRecord
from tileops.ops._possible import impossibility
from tileops.ops.op import Op
from tileops.selection import Selection, select


@dataclass(frozen=True)
class Change:
    """A recorded call that is decided otherwise now.

    Attributes:
        call: The call as recorded.
        before: The key or outcome recorded.
        now: The key or outcome now; None where it cannot be decided.
        selection: The decision now.
        problem: Why there is none.
    """

    call: RecordedCall
    before: str
    now: str | None
    selection: Selection | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Replay:
    """The outcome of a replay.

    Attributes:
        decided: How many kernel requests were decided again.
        skipped: How many records hold no request, or not the facts of one.
        changes: Those that are decided otherwise.
    """

    decided: int
    skipped: int
    changes: tuple[Change, ...]


def replay(recording: Recording, find_op: Callable[[str, str | None], type[Op] | None]) -> Replay:
    """Decide every recorded kernel request again, with the recorded device facts.

    Calls that a target served, or that write no element, carry no request and are skipped.

    Args:
        recording: The recording.
        find_op: Returns an op class by its name and module, or None.
    """
    changes = []
    decided = skipped = 0
    for call in recording.calls:
        before = call.record.decided
        if before is None or call.record.collapsed:
            skipped += 1
            continue
        decided += 1
        change = _changed(call, before, find_op(call.record.op, call.record.module))
        if change is not None:
            changes.append(change)
    return Replay(decided, skipped, tuple(changes))


def _changed(call: RecordedCall, before: str, op: type[Op] | None) -> Change | None:
    record = call.record
    interface = record.interface or ""
    if op is None:
        return Change(call, before, None, problem=f"there is no op {record.op}")
    try:
        table = op.selection_tables().get(interface)
        if table is None:
            problem = f"{record.op} has no interface {interface!r}"
            return Change(call, before, None, problem=problem)
        asked = _call(op.interfaces[interface].calls(), record)
        undecidable = _problem(asked, record)
        if undecidable is not None:
            return Change(call, before, None, problem=undecidable)
        selection = select(table, asked)
    except TileopsError as error:
        return Change(call, before, None, problem=str(error).partition("\n")[0])
    selected = selection.selected
    now = selection.outcome.value if selected is None else selected.key
    return None if now == before else Change(call, before, now, selection)


def _problem(call: CallSpec, record: CallRecord) -> str | None:
    """Say why nothing can be decided about the recorded call, or None."""
    if not record.facts and facts_declared(type(call)):
        # Defaults would make another call of it, which may even be one that an op makes.
        return f"none of the facts of {type(call).__name__} is recorded"
    why = impossibility(call)
    return None if why is None else f"no op makes this call: {why}"


def _call(spec: type[CallSpec], record: CallRecord) -> CallSpec:
    """Build the recorded call.

    Raises:
        RecordedFactError: A fact is missing, or its value is none any more.
        CallSpecDeviceError: The device is none that torch knows.
    """
    facts = decode_facts(spec, record.facts)
    stated: dict[str, Any] = {
        name: value
        for name, value in record.device_facts.items()
        if value is not None and name in spec.DEVICE_FACTS
    }
    device: Any = record.device
    if device is not None and device.startswith("cuda") and stated:
        # The recording states the facts of its device; this machine need not have one.
        device = None
    return spec(device=device, **stated, **facts)
