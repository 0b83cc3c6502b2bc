"""Reading a recording: the files of all processes merged, whatever was cut off left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tileops.errors import TileopsError
from tileops.introspect.trace._record import SCHEMA, CallRecord, Calls, Header, LineRecord


class TraceError(TileopsError, ValueError):
    """A recording cannot be read.

    Cause:
        The path is wrong, the file is no recording, or another version wrote it.

    Remedy:
        Pass the name that was given when it was recorded, or record again.
    """

    template = "{path}: {problem}"


@dataclass(frozen=True)
class RecordedCall:
    """A record with the number of its calls and the process that made them."""

    record: CallRecord
    calls: int
    pid: int


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
    files = _files(Path(path))
    headers: list[Header] = []
    calls: list[RecordedCall] = []
    truncated = []
    for file in files:
        header, records, counts, whole = _read_file(file)
        headers.append(header)
        calls += [RecordedCall(one, counts.get(one.id, 0), header.pid) for one in records]
        if not whole:
            truncated.append(file.name)
    return Recording(tuple(headers), tuple(calls), tuple(truncated))


def _files(path: Path) -> list[Path]:
    suffix = path.suffix or ".jsonl"
    found = sorted(
        one
        for one in path.parent.glob(f"{path.stem}.*{suffix}")
        if one.name[len(path.stem) + 1 : -len(suffix)].isdigit()
    )
    if path.is_file():
        found.insert(0, path)
    if not found:
        raise TraceError(
            path=path, problem=f"there is no recording; {path.stem}.PID{suffix} was looked for too"
        )
    return found


def _read_file(file: Path) -> tuple[Header, list[CallRecord], dict[int, int], bool]:
    header: Header | None = None
    records: list[CallRecord] = []
    counts: dict[int, int] = {}
    whole = True
    for line, last in _lines(file):
        try:
            record = _DECODER.decode(line)
        except msgspec.MsgspecError as error:
            # A process that is killed while it writes leaves a part of its last line.
            if last and header is not None:
                whole = False
                continue
            raise TraceError(path=file.name, problem=f"is no recording: {error}") from error
        if isinstance(record, Header):
            header = _checked(file, record)
        elif isinstance(record, Calls):
            counts[record.id] = record.calls
        else:
            records.append(record)
    if header is None:
        raise TraceError(path=file.name, problem="is no recording: it has no header")
    return header, records, counts, whole


def _lines(file: Path) -> Iterator[tuple[bytes, bool]]:
    lines = file.read_bytes().split(b"\n")
    filled = [line for line in lines if line]
    for place, line in enumerate(filled):
        yield line, place == len(filled) - 1


def _checked(file: Path, header: Header) -> Header:
    if header.schema.rpartition(".")[0] != SCHEMA.rpartition(".")[0]:
        raise TraceError(
            path=file.name, problem=f"has the form {header.schema}; this version reads {SCHEMA}"
        )
    return header


_DECODER: msgspec.json.Decoder[LineRecord] = msgspec.json.Decoder(LineRecord)
