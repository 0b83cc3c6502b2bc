"""What a recording says per op: which keys ran how often, and which refused what."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tileops.introspect.trace._reader import RecordedCall, Recording


@dataclass(frozen=True)
class KeyRow:
    """How often a key, a target or an error was the outcome of an op's calls."""

    interface: str
    key: str
    general: bool
    calls: int
    share: float
    specialisations: int


@dataclass(frozen=True)
class RefusalRow:
    """A key that lost calls to another one without being outranked, and why.

    Attributes:
        key: The key that refused, or was not available.
        stage: Where it dropped out.
        reason: Its reason.
        served_by: The key that served the calls instead.
        calls: How many calls.
        command: Explains the first of them.
    """

    interface: str
    key: str
    stage: str
    reason: str
    served_by: str
    calls: int
    command: str | None


@dataclass(frozen=True)
class OpSummary:
    """The summary of one op."""

    op: str
    calls: int
    keys: tuple[KeyRow, ...]
    refusals: tuple[RefusalRow, ...]


def summarise(recording: Recording) -> tuple[OpSummary, ...]:
    """Summarise a recording, the op with the most calls first."""
    by_op: dict[str, list[RecordedCall]] = {}
    for call in recording.calls:
        by_op.setdefault(call.record.op, []).append(call)
    summaries = [_summary(op, calls) for op, calls in by_op.items()]
    return tuple(sorted(summaries, key=lambda one: (-one.calls, one.op)))


def served_by(call: RecordedCall) -> str:
    """Name what served a call: a key, a target, or what went wrong."""
    record = call.record
    if record.target is not None:
        return f"target {record.target}"
    return record.selected or record.outcome or "no request"


def _summary(op: str, calls: list[RecordedCall]) -> OpSummary:
    counts: Counter[tuple[str, str, bool]] = Counter()
    kinds: Counter[tuple[str, str, bool]] = Counter()
    for call in calls:
        place = (call.record.interface or "", served_by(call), call.record.general)
        counts[place] += call.calls
        kinds[place] += 1
    # A call with several kernel requests has a record per request; each interface counts all of it.
    totals: Counter[str] = Counter()
    for (interface, _, _), number in counts.items():
        totals[interface] += number
    rows = [
        KeyRow(interface, key, general, number, number / (totals[interface] or 1), kinds[place])
        for place, number in counts.items()
        for interface, key, general in (place,)
    ]
    rows.sort(key=lambda row: (row.interface, -row.calls, row.key))
    return OpSummary(op, max(totals.values(), default=0), tuple(rows), _refusals(calls))


def _refusals(calls: list[RecordedCall]) -> tuple[RefusalRow, ...]:
    counts: Counter[tuple[str, str, str, str, str]] = Counter()
    commands: dict[tuple[str, str, str, str, str], str | None] = {}
    for call in calls:
        for loser in call.record.losers:
            if loser.stage in ("refused", "arch", "raised") and not loser.general:
                place = (
                    call.record.interface or "",
                    loser.key,
                    loser.stage,
                    loser.reason or "",
                    served_by(call),
                )
                counts[place] += call.calls
                commands.setdefault(place, call.record.command)
    rows = [RefusalRow(*place, number, commands[place]) for place, number in counts.items()]
    return tuple(sorted(rows, key=lambda row: (-row.calls, row.key, row.reason)))
