"""Compilation ahead of timing: in parallel, into the caches on disk that the run then reads."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from harness.case import Case, cases_of, chosen_ops, smallest_of
from harness.inputs import input_sets
from harness.new_sizes import new_sizes
from harness.peers import family_of, peers_of
from harness.peers.compiled import COMPILED, tuning_turn_by_turn
from harness.peers.tuned import sharing
from harness.timing import described
from tileops.tensor_spec import TensorSpec

__all__ = ["Compiled", "Task", "precompile", "tasks_of", "unready"]

SHARES = 8
"""Processes that compile the configurations of one tuned peer."""

_LOCK: Any = None
"""In a worker: held while a kernel's configurations are timed."""


@dataclass(frozen=True)
class Task:
    """What one worker compiles; names, since a worker reads the manifest itself.

    Attributes:
        op: The op.
        workload: The workload that it is compiled for.
        sweep: Whether the workload is a point of the sweep.
        device: The device.
        peer: The peer, or nothing where it is our own kernels.
        serves: The cases that need it, as ``op/workload``.
        share: Of a peer that Triton tunes, which share of its configurations.
        new_sizes: Whether it is compiled for the calls of new sizes that the workload's host times
            come with.
    """

    op: str
    workload: str
    sweep: bool
    device: str
    peer: str = ""
    serves: tuple[str, ...] = ()
    share: int | None = None
    new_sizes: bool = False

    @property
    def case(self) -> str:
        """The op and the workload."""
        return f"{self.op}/{self.workload}"

    @property
    def name(self) -> str:
        """The case, and of what it is compiled."""
        part = "" if self.share is None else f" {self.share + 1} of {SHARES}"
        kind = "new sizes" if self.new_sizes else self.peer or "ours"
        return f"{self.case} {kind}{part}"


@dataclass(frozen=True)
class Compiled:
    """What came of a task: the seconds it took, and why something did not compile."""

    task: Task
    seconds: float
    problem: str = ""


def tasks_of(cases: Sequence[Case], peers: Sequence[str], device: str) -> tuple[Task, ...]:
    """Return the tasks of cases: our kernels once per call spec, then the slow peers.

    Call specs of new sizes are among ours. The peer of torch.compile is compiled for every case.
    One that Triton tunes is compiled once, in shares, for all cases that it is tuned alike for.
    What many cases wait for comes first.
    """
    ours: dict[Any, list[Case]] = {}
    tuned: dict[Any, list[Case]] = {}
    compiled = []
    for case in cases:
        ours.setdefault((case.entry.name, case.new_op().requests(*case.inputs)), []).append(case)
        family = family_of(case.entry.family)
        if COMPILED in peers and COMPILED in peers_of(family, case.entry.name):
            compiled.append(_task([case], device, COMPILED))
        for name, tuned_for in family.tuned.items():
            key = tuned_for(case.inputs) if name in peers else None
            if key is not None:
                tuned.setdefault((case.entry.name, name, key), []).append(case)
    most = sorted(tuned.items(), key=lambda item: -len(item[1]))
    shares = [
        _task(alike, device, name, share) for (_, name, _), alike in most for share in range(SHARES)
    ]
    of_ours = [_task(alike, device) for alike in ours.values()]
    for case in smallest_of(cases):
        sizes = new_sizes(case)[:1]
        if sizes and (case.entry.name, case.new_op().requests(*sizes[0])) not in ours:
            of_ours.append(replace(_task([case], device), new_sizes=True))
    return (*of_ours, *compiled, *shares)


def _task(cases: Sequence[Case], device: str, peer: str = "", share: int | None = None) -> Task:
    """Return what is compiled for the smallest of *cases*, and serves them all."""
    case = min(cases, key=lambda one: one.cost.bytes)
    serves = tuple(one.name for one in cases)
    return Task(
        case.entry.name, case.workload.name, case.source == "sweep", device, peer, serves, share
    )


def unready(tasks: Iterable[Task], done: Iterable[Compiled]) -> frozenset[tuple[str, str]]:
    """Return the cases whose peers are not all compiled, each with the peer's name.

    One that did not compile counts as compiled: the run meets the same error and reports it.
    """
    finished = {one.task for one in done}
    return frozenset(
        (case, task.peer)
        for task in tasks
        if task.peer and task not in finished
        for case in task.serves
    )


def precompile(tasks: Sequence[Task], jobs: int, seconds: float) -> tuple[Compiled, ...]:
    """Compile in *jobs* processes, in order, and return what finished within *seconds*.

    The processes end then, whatever they are at.
    """
    if not tasks:
        return ()
    # Where nothing says where Triton's cache is, torch.compile moves it from its first use on, and
    # what was compiled before, or in another order, would not be found.
    home = Path(os.environ.get("TRITON_HOME", Path.home()))
    os.environ.setdefault("TRITON_CACHE_DIR", str(home / ".triton" / "cache"))
    context = get_context("spawn")
    done: list[Compiled] = []
    deadline = time.monotonic() + seconds
    with context.Pool(min(jobs, len(tasks)), _start, (context.RLock(),)) as pool:
        coming = pool.imap_unordered(_compile, tasks)
        while len(done) < len(tasks):
            try:
                done.append(coming.next(max(0.0, deadline - time.monotonic())))
            except multiprocessing.TimeoutError:
                break
    return tuple(done)


def _start(lock: Any) -> None:
    # The processes are the parallelism; each starting its own compile workers would be too much.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    global _LOCK
    _LOCK = lock


def _compile(task: Task) -> Compiled:
    started = time.monotonic()
    problem = ""
    try:
        (case,) = cases_of(chosen_ops([task.op]), task.device, task.case, task.sweep)
        if not task.peer:
            _compile_ours(case, new_sizes(case)[0] if task.new_sizes else case.inputs)
        elif task.share is None:
            _compile_peer(case)
        else:
            _compile_share(case, task.peer, task.share)
    except Exception as error:
        # The run meets the same error and reports it with its case: these two as an absent peer.
        absent = task.peer and isinstance(error, ImportError | NotImplementedError)
        problem = "" if absent else described(error)
    return Compiled(task, time.monotonic() - started, problem)


def _compile_ours(case: Case, inputs: Sequence[TensorSpec | None]) -> None:
    op = case.new_op()
    for interface, call in op.requests(*inputs):
        op.kernel_for(interface, call)


@torch.no_grad()
def _compile_peer(case: Case) -> None:
    family = family_of(case.entry.family)
    builder = peers_of(family, case.entry.name)[COMPILED]
    with tuning_turn_by_turn(_LOCK):
        with _LOCK:
            (inputs,) = input_sets(case, 1, seed=0, fills=family.fills)
            torch.cuda.synchronize()
        builder(case.call.params, inputs)(*inputs)
    torch.cuda.empty_cache()


@torch.no_grad()
def _compile_share(case: Case, peer: str, share: int) -> None:
    family = family_of(case.entry.family)
    (inputs,) = input_sets(case, 1, seed=0, fills=family.fills)
    with sharing(share, SHARES):
        peers_of(family, case.entry.name)[peer](case.call.params, inputs)(*inputs)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
