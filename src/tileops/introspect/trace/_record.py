"""The lines of a recording."""

from __future__ import annotations

from typing import Any

import msgspec

from tileops.selection import Outcome, Stage

SCHEMA = "tileops.trace/1.0"


class Header(msgspec.Struct, frozen=True, tag="header", tag_field="kind"):
    """The first line of a file: which process it belongs to.

    Attributes:
        schema: The form of the lines.
        pid: The process.
        argv: Its command line.
        tileops: The version of tileops.
        torch: The version of torch.
    """

    schema: str
    pid: int
    argv: list[str]
    tileops: str
    torch: str


class Loser(msgspec.Struct, frozen=True):
    """A key that was not selected.

    Attributes:
        key: The key.
        stage: How far it came.
        reason: Why it came no further.
        general: Whether it is the general implementation.
        preferred: Whether it would have served the call, had it applied: it outranks the
            selected key, or no key was selected.
    """

    key: str
    stage: str
    reason: str | None
    general: bool = False
    preferred: bool = False


class CallRecord(msgspec.Struct, frozen=True, kw_only=True, tag="call", tag_field="kind"):
    """One kernel request of one specialisation, or a call that makes no request.

    Attributes:
        calls: The number of such calls; 0 where the process ended before it was first written.
        op: The op's class name.
        module: The module of the op's class.
        place: The line of the program that made the first of the calls.
        position: Which of the call's kernel requests this is.
        seconds: How long finding or building the kernels of the first call took.
        target: The target that serves the op; then there is no request.
        empty: Whether the call writes no element; then there is no request either.
        interface: The interface asked.
        request: The call spec type.
        facts: The facts of the call.
        device: The device, as torch names it.
        device_facts: Its facts.
        outcome: What selection came to.
        selected: The selected key.
        general: Whether it is the general implementation.
        losers: The other keys.
        error: What the call raised.
        imports: The modules that another process must import to have the keys.
        command: The command that explains it; None when no other process can have the keys.
        collapsed: Whether it stands for all calls with this outcome that differ in what is left
            out here, once a recording has as many records as it may.
    """

    calls: int = 0
    op: str
    module: str
    place: str = ""
    position: int = 0
    seconds: float = 0.0
    target: str | None = None
    empty: bool = False
    interface: str | None = None
    request: str | None = None
    facts: dict[str, Any] = {}
    device: str | None = None
    device_facts: dict[str, int | None] = {}
    outcome: str | None = None
    selected: str | None = None
    general: bool = False
    losers: list[Loser] = []
    error: str | None = None
    imports: list[str] = []
    command: str | None = None
    collapsed: bool = False

    @property
    def decided(self) -> str | None:
        """What selection came to: the selected key, else the outcome; None without a request."""
        return self.selected or self.outcome

    @property
    def served_by(self) -> str:
        """What served the call, in words."""
        if self.target is not None:
            return f"target {self.target}"
        if self.empty:
            return "no kernel (empty)"
        if self.selected is None and self.outcome is not None:
            return f"nothing ({self.outcome.replace('_', ' ')})"
        return self.selected or ("no kernel (failed)" if self.error else "other ops")


_OUTCOMES = tuple(one.value for one in Outcome)
_STAGES = tuple(one.value for one in Stage)


def fault_of(record: CallRecord) -> str | None:
    """Say what no recording can say, None of a record that is sound."""
    for name in ("calls", "position", "seconds"):
        value = getattr(record, name)
        if value < 0:
            return f"{name} must be 0 or more, got {value}"
    if record.outcome not in (None, *_OUTCOMES):
        return f"outcome must be one of {', '.join(_OUTCOMES)}, got {record.outcome!r}"
    if (record.selected is not None) != (record.outcome == Outcome.SELECTED.value):
        return f"outcome is {record.outcome!r}, and the selected key {record.selected!r}"
    for one in record.losers:
        if one.stage not in _STAGES:
            return f"the stage of {one.key} must be one of {', '.join(_STAGES)}, got {one.stage!r}"
    return None


def collapsed(record: CallRecord) -> CallRecord:
    """Return what a record says without what tells calls of one outcome apart."""
    return CallRecord(
        op=record.op,
        module=record.module,
        position=record.position,
        target=record.target,
        empty=record.empty,
        interface=record.interface,
        outcome=record.outcome,
        selected=record.selected,
        general=record.general,
        collapsed=True,
    )


LineRecord = Header | CallRecord
