"""Writing a recording while the program runs."""

from __future__ import annotations

import atexit
import dataclasses
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

import msgspec
import torch

from tileops.introspect.fact_values import encode_facts
from tileops.introspect.trace._record import SCHEMA, CallRecord, Calls, Header, LineRecord, Loser
from tileops.ops._observers import Cell, Specialisation, forget_all_plans, subscribe
from tileops.selection import Selection, Stage

FLUSH_SECONDS = 0.5


def file_of(path: Path, pid: int) -> Path:
    """Return the file of one process: ``trace.jsonl`` of process 7 is ``trace.7.jsonl``."""
    return path.with_name(f"{path.stem}.{pid}{path.suffix or '.jsonl'}")


class Recorder:
    """Writes one file per process, complete up to the last half second even when it is killed.

    Args:
        path: The name that the files derive theirs from; see `file_of`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        self._encoder = msgspec.json.Encoder()
        self._stopped = threading.Event()
        self._end: Callable[[], None] = lambda: None
        self._open()

    def start(self) -> None:
        """Begin to record; a forked child records into a file of its own."""
        self._end = subscribe(self._specialised)
        os.register_at_fork(after_in_child=self._after_fork)
        atexit.register(self.stop)

    def stop(self) -> None:
        """Write the last counts and end the recording."""
        if self._stopped.is_set():
            return
        self._end()
        self._stopped.set()
        with self._lock:
            self._write_counts()
            self._file.close()
        atexit.unregister(self.stop)

    def _open(self) -> None:
        self._cells: list[list[Cell]] = []
        self._written: list[int] = []
        self._known: dict[bytes, int] = {}
        path = file_of(self.path, os.getpid())
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = path.open("wb")
        self._write(
            Header(SCHEMA, os.getpid(), list(sys.argv), _version("tileops"), str(torch.__version__))
        )
        threading.Thread(target=self._flush_forever, name="tileops-trace", daemon=True).start()

    def _after_fork(self) -> None:
        if self._stopped.is_set():
            return
        # The parent's thread may hold the lock at the fork, and its thread does not exist here.
        self._lock = threading.RLock()
        self._open()
        # Plans made before the fork count into the parent's records.
        forget_all_plans()

    def _specialised(self, event: Specialisation) -> None:
        if event.error is not None:
            # A call that fails has no plan that would count it.
            event.cell.calls += 1
        place = calling_place()
        with self._lock:
            if not self._stopped.is_set():
                for record in _records(event, place):
                    self._add(record, event.cell)

    def _add(self, record: CallRecord, cell: Cell) -> None:
        """Write a record, or let an equal one count the calls too.

        Calls of one kind of kernel request can differ in what the request does not hold, such as
        the number of rows; they are one record.
        """
        key = self._encoder.encode(msgspec.structs.replace(record, seconds=0.0))
        known = self._known.setdefault(key, len(self._cells))
        if known < len(self._cells):
            self._cells[known].append(cell)
            return
        self._cells.append([cell])
        self._written.append(-1)
        self._write(msgspec.structs.replace(record, id=known))

    def _flush_forever(self) -> None:
        process = os.getpid()
        while not self._stopped.wait(FLUSH_SECONDS):
            with self._lock:
                if self._stopped.is_set() or os.getpid() != process:
                    return
                self._write_counts()

    def _write_counts(self) -> None:
        for identity, cells in enumerate(self._cells):
            calls = sum(cell.calls for cell in cells)
            if calls != self._written[identity]:
                self._write(Calls(identity, calls), flush=False)
                self._written[identity] = calls
        self._file.flush()

    def _write(self, record: LineRecord, *, flush: bool = True) -> None:
        self._file.write(self._encoder.encode(record) + b"\n")
        if flush:
            self._file.flush()


@contextmanager
def record(path: str | os.PathLike[str]) -> Iterator[Recorder]:
    """Record what the block selects into *path*, one file per process.

    Example:
        >>> with tileops.trace.record("trace.jsonl"):
        ...     model(batch)
    """
    recorder = Recorder(path)
    recorder.start()
    try:
        yield recorder
    finally:
        recorder.stop()


def start(path: str) -> None:
    """Record the whole program into *path*; the environment variable TILEOPS_TRACE calls it."""
    Recorder(path).start()


def calling_place() -> str:
    """Return the file and line outside tileops and torch that the call came from."""
    inside = (
        os.path.dirname(sys.modules["tileops"].__file__ or ""),
        os.path.dirname(torch.__file__),
    )
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        frame = frame.f_back
    name = frame.f_code.co_filename
    below = os.path.relpath(name) if os.path.isabs(name) else name
    return f"{name if below.startswith('..') else below}:{frame.f_lineno}"


def _records(event: Specialisation, place: str) -> Iterator[CallRecord]:
    """Yield a record per kernel request, or one record without a request."""
    error = None if event.error is None else f"{type(event.error).__name__}: {event.error}"
    common: dict[str, Any] = {
        "op": event.op,
        "module": event.module,
        "target": event.target,
        "place": place,
        "seconds": round(event.seconds, 6),
        "error": error,
    }
    if not event.selections:
        yield CallRecord(id=0, **common)
    for selection in event.selections:
        yield CallRecord(id=0, **common, **_decision(selection))


def _decision(selection: Selection) -> dict[str, Any]:
    call: Any = selection.call
    selected = selection.selected
    return {
        "interface": selection.table.interface,
        "request": type(call).__name__,
        "facts": encode_facts(call),
        "device": None if call.device is None else str(call.device),
        "device_facts": dataclasses.asdict(call.device_facts()),
        "outcome": selection.outcome.value,
        "selected": None if selected is None else selected.key,
        "general": selected is not None and selected.candidate.implementation.general,
        "losers": [
            Loser(v.key, v.stage.value, v.reason, v.candidate.implementation.general)
            for v in selection.verdicts
            if v.stage is not Stage.SELECTED
        ],
        "command": selection.command(),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
