"""The lines of a recording."""

from __future__ import annotations

from typing import Any

import msgspec

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
    """A key that was not selected: how far it came, and why no further."""

    key: str
    stage: str
    reason: str | None
    general: bool = False


class CallRecord(msgspec.Struct, frozen=True, tag="call", tag_field="kind"):
    """One kernel request of one specialisation.

    Attributes:
        id: Unique in the file; the counts name it.
        op: The op's class name.
        module: The module of the op's class.
        target: The target that serves it; then there is no request.
        place: The line of the program that made the call.
        seconds: How long finding or building the kernel took.
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
        command: The command that explains it.
    """

    id: int
    op: str
    module: str
    target: str | None
    place: str
    seconds: float
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
    command: str | None = None


class Calls(msgspec.Struct, frozen=True, tag="calls", tag_field="kind"):
    """The number of calls of a record up to now; the last such line counts."""

    id: int
    calls: int


LineRecord = Header | CallRecord | Calls
