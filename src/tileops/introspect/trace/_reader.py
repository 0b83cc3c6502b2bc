"""Reading a recording: the files of all processes merged, whatever was cut off left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tileops.errors import TraceError
from tileops.introspect._repeated_names import repeated_name
from tileops.introspect.trace._record import SCHEMA, CallRecord, Header, fault_of


@dataclass(frozen=True)
class RecordedCall:
    """A record and the process that made its calls."""

    record: CallRecord
    pid: int

    @property
    def calls(self) -> int:
        """The number of its calls."""
        return self.record.calls


@dataclass(frozen=True)
class Recording:
    """A whole recording.

    Attributes:
        headers: One per process, in the order of the files' names.
        calls: Every record, in the order of the files and then of the program.
        truncated: The files whose last line was cut off.
    """

    headers: tuple[Header, ...]
    calls: tuple[RecordedCall, ...]
    truncated: tuple[str, ...] = ()


def read_recording(path: str | Path) -> Recording:
    """Read the file *path*, or the files of all processes that were recorded under that name.

    Raises:
        TraceError: There is no such file, or a file is no recording this version reads.
    """
    headers: list[Header] = []
    calls: list[RecordedCall] = []
    truncated = []
    for file in _files(Path(path)):
        header, records, whole = _read_file(file)
        if not whole:
            truncated.append(file.name)
        if header is not None:
            headers.append(header)
            calls += [RecordedCall(one, header.pid) for one in records]
    if not headers:
        raise TraceError(path=path, problem=_nothing(Path(path), truncated))
    return Recording(tuple(headers), tuple(calls), tuple(truncated))


def _files(path: Path) -> list[Path]:
    try:
        return recorded_files(path)
    except OSError as error:
        raise TraceError(path=path, problem=f"cannot be read: {error.strerror}") from error


def recorded_files(path: Path) -> list[Path]:
    """Return the file *path* if there is one, then the files of processes, by process."""
    suffix = path.suffix or ".jsonl"
    name = re.compile(rf"{re.escape(path.stem)}\.(\d+)(?:\.(\d+))?{re.escape(suffix)}")
    there = list(path.parent.iterdir()) if path.parent.is_dir() else []
    named = [(match, one) for one in there if (match := name.fullmatch(one.name))]
    named.sort(key=lambda pair: (int(pair[0][1]), int(pair[0][2] or 0)))
    return [path] * path.is_file() + [one for _, one in named]


def _nothing(path: Path, truncated: list[str]) -> str:
    if truncated:
        return "the process ended before it recorded anything"
    if path.is_dir():
        return "is a folder; a recording is named as it was when it was made"
    if path.exists():
        return "is no recording: it is no regular file"
    return f"there is no recording; {path.stem}.PID{path.suffix or '.jsonl'} was looked for too"


def _read_file(file: Path) -> tuple[Header | None, list[CallRecord], bool]:
    """Return header, records and whether the file ends with a whole line."""
    header: Header | None = None
    records: list[CallRecord] = []
    if file.exists() and not file.is_file():
        raise TraceError(path=file, problem="is no recording: it is no regular file")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise TraceError(path=file, problem=f"cannot be read: {error.strerror}") from error
    if content[:1] not in (b"", b"{"):
        problem = "is no recording: it does not begin with a line of JSON"
        raise TraceError(path=file, problem=problem)
    # A process that is killed while it writes leaves a part of its last line.
    body, end, rest = content.rpartition(b"\n")
    for number, line in _lines(body):
        try:
            kind = _KIND.decode(line).kind
            if kind == "header":
                header = _checked(file, _HEADER.decode(line))
            elif kind == "call" and header is not None:
                records.append(_sound(line, _CALL.decode(line)))
        except (msgspec.MsgspecError, _UnsoundError, RecursionError) as error:
            why = "nests too deep" if isinstance(error, RecursionError) else str(error)
            problem = f"is no recording: line {number}: {why}"
            raise TraceError(path=file, problem=problem) from error
        if header is None:
            raise TraceError(path=file, problem="is no recording: it has no header")
    return header, records, bool(end) and not rest


class _UnsoundError(ValueError):
    """A record says what nothing recorded can."""


def _sound(line: bytes, record: CallRecord) -> CallRecord:
    twice = repeated_name(line)
    fault = fault_of(record) if twice is None else f"states {twice!r} twice in one object"
    if fault is not None:
        raise _UnsoundError(fault)
    return record


def _lines(body: bytes) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(body.split(b"\n"), start=1):
        if line:
            yield number, line


def _checked(file: Path, header: Header) -> Header:
    if header.schema.rpartition(".")[0] != SCHEMA.rpartition(".")[0]:
        raise TraceError(
            path=file, problem=f"has the form {header.schema}; this version reads {SCHEMA}"
        )
    return header


class _Kind(msgspec.Struct):
    kind: str


# A later minor version may add kinds of lines; they are skipped.
_KIND = msgspec.json.Decoder(_Kind)
_HEADER = msgspec.json.Decoder(Header)
_CALL = msgspec.json.Decoder(CallRecord)
