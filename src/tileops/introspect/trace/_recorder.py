"""Writing a recording while the program runs."""

from __future__ import annotations

import atexit
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from multiprocessing import util as processes
from pathlib import Path

import msgspec

from tileops.errors import TraceError
from tileops.errors.wording import shown
from tileops.introspect.caller import caller
from tileops.introspect.trace._decisions import records_of
from tileops.introspect.trace._file import TraceFile
from tileops.introspect.trace._record import CallRecord, collapsed
from tileops.ops._observers import Cell, Specialisation, forget_all_plans, subscribe

FLUSH_SECONDS = 0.5
"""How old a counter in a file may be."""

FLUSH_SHARE = 50
"""Flushing takes at most one part in so many of the time, however many counters there are."""

LIMIT = 50_000
"""Records of one process; further ones are collapsed."""


class Recorder:
    """Writes one file per process, complete up to the last half second even when it is killed.

    Args:
        path: The name that the files derive theirs from: process 7 writes ``trace.jsonl`` to
            ``trace.7.jsonl``.
        limit: The number of records after which further ones are collapsed to one per outcome.

    Raises:
        TraceError: The path names no file.
    """

    def __init__(self, path: str | os.PathLike[str], limit: int = LIMIT) -> None:
        # A program may change its directory before it forks.
        self.path = _named(path).absolute()
        self._limit = limit
        self._end: Callable[[], None] = lambda: None
        self._finalizer: processes.Finalize | None = None
        self._recording = False
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._file: TraceFile | None = None
        self._places: list[int] = []
        self._written: list[int] = []
        self._known: dict[bytes, int] = {}
        self._cells: dict[tuple[int, ...], Cell] = {}

    def start(self) -> None:
        """Begin to record; a forked child records into a file of its own.

        Raises:
            TraceError: The file cannot be written.
        """
        try:
            self._open()
        except OSError as error:
            raise TraceError(
                path=self.path, problem=f"cannot be written: {error.strerror}"
            ) from error
        self._recording = True
        self._end = subscribe(self._specialised)
        _recorders.add(self)
        atexit.register(self.stop)
        processes.register_after_fork(self, Recorder._stop_with_process)
        self._stop_with_process()

    def stop(self) -> None:
        """Write the last counts and end the recording."""
        with self._lock:
            if not self._recording:
                return
            self._recording = False
        self._end()
        self._stopped.set()
        _recorders.discard(self)
        atexit.unregister(self.stop)
        if self._finalizer is not None:
            self._finalizer.cancel()
        with self._lock:
            file, self._file = self._file, None
            if file is None:
                return
            try:
                self._flush(file)
                file.close()
            except OSError as error:
                self._give_up(error)

    def _stop_with_process(self) -> None:
        # The children of multiprocessing leave without running what atexit knows.
        self._finalizer = processes.Finalize(None, self.stop, exitpriority=-100)

    def _open(self) -> TraceFile:
        self._file = file = TraceFile(self.path)
        threading.Thread(
            target=self._flush_forever, args=(file,), name="tileops-trace", daemon=True
        ).start()
        return file

    def after_fork(self) -> None:
        """Begin anew in a child; its file is made when it first calls an op."""
        if self._file is not None:
            self._file.close()
        # Another thread of the parent may hold the lock, and what it holds is the parent's.
        self._begin()

    def _specialised(self, event: Specialisation) -> Cell | None:
        place = str(caller())
        try:
            with self._lock:
                if not self._recording:
                    return None
                file = self._file or self._open()
                ids = dict.fromkeys(self._id_of(file, one) for one in records_of(event, place))
                cell = self._cells.setdefault(tuple(ids), Cell())
        except OSError as error:
            self._give_up(error)
            return None
        if event.error is not None:
            # A call that fails has no plan that would count it.
            cell.calls += 1
            return None
        return cell

    def _id_of(self, file: TraceFile, record: CallRecord) -> int:
        """Return the number of a record, writing it unless there is an equal one.

        Calls of one kind of kernel request can differ in what the request does not hold, such as
        the number of rows; they are one record.
        """
        key = _digest(record)
        known = self._known.get(key)
        if known is None and len(self._known) >= self._limit:
            record = collapsed(record)
            key = _digest(record)
            known = self._known.get(key)
        if known is None:
            self._places.append(file.add(record))
            self._written.append(0)
            known = self._known[key] = len(self._known)
        return known

    def _flush_forever(self, file: TraceFile) -> None:
        pause = FLUSH_SECONDS
        stopped = self._stopped
        while not stopped.wait(pause):
            begin = time.perf_counter()
            try:
                with self._lock:
                    if stopped.is_set():
                        return
                    self._flush(file)
            except OSError as error:
                self._give_up(error)
                return
            pause = max(FLUSH_SECONDS, FLUSH_SHARE * (time.perf_counter() - begin))

    def _flush(self, file: TraceFile) -> None:
        totals = [0] * len(self._places)
        for ids, cell in list(self._cells.items()):
            for one in ids:
                totals[one] += cell.calls
        for one, calls in enumerate(totals):
            if calls != self._written[one]:
                file.count(self._places[one], calls)
                self._written[one] = calls

    def _give_up(self, error: OSError) -> None:
        """End the recording, not the program, when a disk is full or gone."""
        self._recording = False
        self._stopped.set()
        self._end()
        _recorders.discard(self)
        warnings.warn(
            f"tileops stopped recording into {self.path}: {error}", RuntimeWarning, stacklevel=2
        )


def _named(path: object) -> Path:
    """Return the path of a recording, checked before the program runs, which may take hours."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        kind = type(path).__name__
        raise TraceError(path=shown(path), problem=f"path must be a str or a path, got {kind}")
    if not text:
        raise TraceError(path="''", problem="path must name a file, and is empty")
    if "\0" in text:
        problem = "path must name a file, and no name holds a null character"
        raise TraceError(path=shown(text), problem=problem)
    if os.path.isdir(text):
        raise TraceError(path=text, problem="path must name a file, and this is a folder")
    return Path(text)


def _digest(record: CallRecord) -> bytes:
    same = msgspec.structs.replace(record, seconds=0.0)
    return blake2b(msgspec.json.encode(same), digest_size=16).digest()


_recorders: set[Recorder] = set()


def _after_fork() -> None:
    for recorder in list(_recorders):
        recorder.after_fork()
    if _recorders:
        # Plans made before the fork count for the parent.
        forget_all_plans()


os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def record(path: str | os.PathLike[str]) -> Iterator[Recorder]:
    """Record what the block selects, in every thread and in every process forked inside.

    Args:
        path: The name of the recording; each process writes a file of its own, ``trace.7.jsonl``
            for ``trace.jsonl``. Files that are there stay and are part of the recording.

    Raises:
        TraceError: *path* names no file, or the file cannot be written.

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
    recorder = Recorder(path)
    # Programs started from here may run in another directory.
    os.environ["TILEOPS_TRACE"] = str(recorder.path)
    recorder.start()
