"""The file of one process: complete at every moment, its counters kept up to date in place."""

from __future__ import annotations

import os
import sys
from itertools import count
from pathlib import Path

import msgspec
import torch

from tileops import __version__
from tileops.introspect.trace._record import SCHEMA, CallRecord, Header

_COUNTED = b'{"kind":"call","calls":'
_UNCOUNTED = _COUNTED + b"0,"
_WIDTH = 15
"""Digits of a counter: room for ten years of a million calls a second."""


class TraceFile:
    """Writes records as lines of JSON.

    Every line is written at once and padded so that its counter can be overwritten later; a
    process that is killed leaves at most one line cut off.

    Args:
        path: The name that the file derives its own from; see `file_of`.

    Raises:
        OSError: The file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self._descriptor = _created(path)
        self._end = 0
        self._append(
            msgspec.json.encode(
                Header(SCHEMA, os.getpid(), list(sys.argv), __version__, str(torch.__version__))
            )
        )

    def add(self, record: CallRecord) -> int:
        """Append a record; return the place of its counter."""
        line = msgspec.json.encode(msgspec.structs.replace(record, calls=0))
        assert line.startswith(_UNCOUNTED)
        place = self._end + len(_COUNTED)
        self._append(_COUNTED + b"0".rjust(_WIDTH) + line[len(_UNCOUNTED) - 1 :])
        return place

    def count(self, place: int, calls: int) -> None:
        """Overwrite the counter at a place."""
        self._write(str(calls).encode().rjust(_WIDTH), place)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _append(self, line: bytes) -> None:
        self._write(line + b"\n", self._end)
        self._end += len(line) + 1

    def _write(self, data: bytes, place: int) -> None:
        while data:
            written = os.pwrite(self._descriptor, data, place)
            data, place = data[written:], place + written


def check_writable(path: Path) -> None:
    """Make a file of this process, as a recording would, and remove it.

    Raises:
        OSError: It cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file, descriptor = _created(path)
    os.close(descriptor)
    file.unlink()


def file_of(path: Path, pid: int, repeated: int = 0) -> Path:
    """Return the file of one process: ``trace.jsonl`` of process 7 is ``trace.7.jsonl``.

    Args:
        path: The name of the recording.
        pid: The process.
        repeated: How many files of that process there are already.
    """
    suffix = f".{repeated + 1}" if repeated else ""
    return path.with_name(f"{path.stem}.{pid}{suffix}{path.suffix or '.jsonl'}")


def _created(path: Path) -> tuple[Path, int]:
    """Create a file that nobody has written: containers share folders and number alike."""
    for repeated in count():
        file = file_of(path, os.getpid(), repeated)
        try:
            return file, os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            continue
    raise AssertionError("counting never ends")
