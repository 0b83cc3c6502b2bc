"""What a recording says per op: which keys ran how often, and which keys of higher rank did not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import msgspec

from tileops.introspect.trace._reader import RecordedCall, Recording
from tileops.introspect.trace._record import CallRecord, Loser


@dataclass(frozen=True)
class KeyRow:
    """How often a key, a target or nothing served an op's calls.

    Attributes:
        interface: The interface; None for calls that make no kernel request.
        served_by: What served the calls.
        general: Whether it is the general implementation.
        calls: How many calls.
        share: Their share of the op's calls.
        kinds: How many of these calls differ in their facts or in those of their device, whatever
            process or line made them.
    """

    interface: str | None
    served_by: str
    general: bool
    calls: int
    share: float
    kinds: int


@dataclass(frozen=True)
class RefusalRow:
    """A key that would have served calls, had it applied, and why it did not.

    Attributes:
        interface: The interface.
        key: The key.
        stage: Where it dropped out.
        reason: Its reason.
        served_by: What served the calls instead.
        calls: How many calls.
        place: The line of the program that made the first of them.
        command: Explains the first of them.
    """

    interface: str
    key: str
    stage: str
    reason: str
    served_by: str
    calls: int
    place: str
    command: str | None


@dataclass(frozen=True)
class ErrorRow:
    """What calls raised, how many and where."""

    error: str
    calls: int
    place: str


@dataclass(frozen=True)
class OpSummary:
    """The summary of one op.

    Attributes:
        op: Its class name.
        calls: How often it was called.
        seconds: How long its kernels took to find or build.
        keys: What served the calls, by interface.
        refusals: Keys of higher rank that did not serve, the most calls first.
        errors: What calls raised, the most calls first.
    """

    op: str
    calls: int
    seconds: float
    keys: tuple[KeyRow, ...]
    refusals: tuple[RefusalRow, ...]
    errors: tuple[ErrorRow, ...]


NOT_APPLIED = ("arch", "raised", "refused")
"""The stages of a key that runs on the call's device type and did not apply."""


def summarise(recording: Recording) -> tuple[OpSummary, ...]:
    """Summarise a recording, the op with the most calls first."""
    by_op: dict[str, list[RecordedCall]] = {}
    for call in recording.calls:
        by_op.setdefault(call.record.op, []).append(call)
    summaries = [_summary(op, [one.record for one in calls]) for op, calls in by_op.items()]
    return tuple(sorted(summaries, key=lambda one: (-one.calls, one.op)))


def _summary(op: str, records: list[CallRecord]) -> OpSummary:
    # A call with several kernel requests has a record per request.
    first = [one for one in records if one.position == 0]
    calls = sum(one.calls for one in first)
    seconds = round(sum(one.seconds for one in first), 6)
    return OpSummary(op, calls, seconds, _keys(records, calls), _refusals(records), _errors(first))


def _keys(records: list[CallRecord], all_calls: int) -> tuple[KeyRow, ...]:
    counts: Counter[tuple[str | None, str, bool]] = Counter()
    kinds: dict[tuple[str | None, str, bool], set[bytes]] = {}
    for one in records:
        row = (one.interface, one.served_by, one.general)
        counts[row] += one.calls
        kinds.setdefault(row, set()).add(_kind(one))
    rows = [
        KeyRow(interface, served_by, general, calls, calls / (all_calls or 1), len(kinds[row]))
        for row, calls in counts.items()
        for interface, served_by, general in (row,)
    ]
    return tuple(sorted(rows, key=lambda row: (row.interface or "", -row.calls, row.served_by)))


def _kind(record: CallRecord) -> bytes:
    """Return what tells the call apart from others of its interface.

    The number of a device is left out: two devices with the same facts select alike.
    """
    device = (record.device or "").partition(":")[0]
    told = (record.request, record.facts, device, record.device_facts, record.collapsed)
    return msgspec.json.encode(told, order="sorted")


def _refusals(records: list[CallRecord]) -> tuple[RefusalRow, ...]:
    counts: Counter[tuple[str, str, str, str, str]] = Counter()
    first: dict[tuple[str, str, str, str, str], CallRecord] = {}
    for one in records:
        for loser in filter(_missed, one.losers):
            reason = loser.reason or ""
            row = (one.interface or "", loser.key, loser.stage, reason, one.served_by)
            counts[row] += one.calls
            first.setdefault(row, one)
    rows = [
        RefusalRow(*row, calls, first[row].place, first[row].command)
        for row, calls in counts.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.calls, row.key, row.reason)))


def _missed(loser: Loser) -> bool:
    return loser.preferred and loser.stage in NOT_APPLIED


def _errors(records: list[CallRecord]) -> tuple[ErrorRow, ...]:
    counts: Counter[tuple[str, str]] = Counter()
    for one in records:
        if one.error is not None:
            counts[one.error, one.place] += one.calls
    rows = [ErrorRow(error, calls, place) for (error, place), calls in counts.items()]
    return tuple(sorted(rows, key=lambda row: (-row.calls, row.error, row.place)))
