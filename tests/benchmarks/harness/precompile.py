"""Compilation ahead of timing: in parallel, into the caches on disk that the run then reads."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import torch

from harness.case import Case, cases_of, chosen_ops
from harness.inputs import input_sets
from harness.peers import family_of, peers_of
from harness.peers.compiled import tuning_turn_by_turn
from harness.peers.tuned import sharing
from harness.timing import described

__all__ = ["Compiled", "Task", "precompile", "tasks_of"]

SHARES = 8
"""Processes that compile the configurations of one tuned peer."""

_LOCK: Any = None
"""In a worker: held while a kernel's configurations are timed."""


@dataclass(frozen=True)
class Task:
    """What one worker compiles; names, since a worker reads the manifest itself.

    Attributes:
        op: The op.
        workload: Its workload.
        sweep: Whether the workload is a point of the sweep.
        ours: Whether to build our kernels: one workload stands for all with the same call spec.
        peers: Whether to compile the peer that torch.compile makes.
        device: The device.
        tuned: The peer of which a share of the configurations is compiled, and nothing else.
        share: Which share.
    """

    op: str
    workload: str
    sweep: bool
    ours: bool
    peers: bool
    device: str
    tuned: str = ""
    share: int = 0

    @property
    def name(self) -> str:
        """The op and the workload."""
        return f"{self.op}/{self.workload}"


@dataclass(frozen=True)
class Compiled:
    """What came of a task: the seconds it took, and why something did not compile."""

    task: Task
    seconds: float
    problem: str = ""


def tasks_of(cases: Sequence[Case], peers: Sequence[str], device: str) -> tuple[Task, ...]:
    """Return the tasks of cases: our kernels once per call spec, the compiled peer per case.

    A peer that Triton tunes is compiled once, in shares, for all cases that it is tuned alike for.
    """
    seen: set[Any] = set()
    tasks = []
    for case in cases:
        requests = (case.entry.name, case.new_op().requests(*case.inputs))
        ours = requests not in seen
        seen.add(requests)
        compiled = "compile" in peers
        if ours or compiled:
            sweep = case.source == "sweep"
            tasks.append(Task(case.entry.name, case.workload.name, sweep, ours, compiled, device))
    return (*_tuned_tasks(cases, peers, device), *tasks)


def _tuned_tasks(cases: Sequence[Case], peers: Sequence[str], device: str) -> list[Task]:
    """Return the shares of tuned peers, for the smallest of the cases that are tuned alike."""
    alike: dict[Any, Case] = {}
    for case in cases:
        for name, tuned_for in family_of(case.entry.family).tuned.items():
            key = tuned_for(case.inputs) if name in peers else None
            if key is not None:
                known = alike.setdefault((case.entry.name, name, key), case)
                if case.cost.bytes < known.cost.bytes:
                    alike[case.entry.name, name, key] = case
    return [
        Task(op, case.workload.name, case.source == "sweep", False, False, device, name, share)
        for (op, name, _), case in alike.items()
        for share in range(SHARES)
    ]


def precompile(tasks: Sequence[Task], jobs: int, seconds: float) -> tuple[Compiled, ...]:
    """Compile in *jobs* processes and return what finished within *seconds*.

    What did not finish is compiled when its case runs.
    """
    if not tasks:
        return ()
    context = get_context("spawn")
    done: list[Compiled] = []
    deadline = time.monotonic() + seconds
    pool = ProcessPoolExecutor(
        min(jobs, len(tasks)), context, initializer=_start, initargs=(context.Lock(),)
    )
    with pool:
        waiting: dict[Future[Compiled], Task] = {pool.submit(_compile, one): one for one in tasks}
        while waiting and (left := deadline - time.monotonic()) > 0:
            finished, _ = wait(waiting, timeout=left, return_when=FIRST_COMPLETED)
            for future in finished:
                task = waiting.pop(future)
                error = future.exception()
                done.append(Compiled(task, 0.0, described(error)) if error else future.result())
        pool.shutdown(wait=True, cancel_futures=True)
    return tuple(done)


def _start(lock: Any) -> None:
    # The processes are the parallelism; each starting its own compile workers would be too much.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    global _LOCK
    _LOCK = lock


def _compile(task: Task) -> Compiled:
    started = time.monotonic()
    problems = []
    (case,) = cases_of(chosen_ops([task.op]), task.device, task.name, task.sweep)
    if task.tuned:
        try:
            _compile_share(case, task)
        except ImportError:
            pass  # The run reports the peer as absent.
        except Exception as error:
            problems.append(described(error))
    if task.ours:
        try:
            op = case.new_op()
            for interface, call in op.requests(*case.inputs):
                op.kernel_for(interface, call)
        except Exception as error:
            # The run meets the same error and reports it with its case.
            problems.append(described(error))
    if task.peers:
        try:
            _compile_peer(case)
        except Exception as error:
            problems.append(described(error))
    return Compiled(task, time.monotonic() - started, "; ".join(problems))


@torch.no_grad()
def _compile_peer(case: Case) -> None:
    family = family_of(case.entry.family)
    builder = peers_of(family, case.entry.name).get("compile")
    if builder is None:
        return
    with tuning_turn_by_turn(_LOCK) as possible:
        if not possible:
            return
        with _LOCK:
            (inputs,) = input_sets(case, 1, seed=0, fills=family.fills)
            torch.cuda.synchronize()
        builder(case.call.params, inputs)(*inputs)
    torch.cuda.empty_cache()


@torch.no_grad()
def _compile_share(case: Case, task: Task) -> None:
    family = family_of(case.entry.family)
    (inputs,) = input_sets(case, 1, seed=0, fills=family.fills)
    with sharing(task.share, SHARES):
        peers_of(family, task.op)[task.tuned](case.call.params, inputs)(*inputs)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
