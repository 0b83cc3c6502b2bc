"""A run: the cases one after another, within a budget, every result written as it comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec
import torch

from harness.case import Case
from harness.ceilings import roofline
from harness.clock import Clock
from harness.contest import COPY, OURS, Contest
from harness.host import host_times
from harness.inputs import input_sets, sets_for
from harness.peers import family_of
from harness.record import HostRow, PeerRow, Results, Row, Timing
from harness.store import write
from harness.timing import Effort, Failure, described, measure

__all__ = ["Machine", "Observer", "Plan", "run"]


HOST_ROUNDS = 25
"""How often the host's clock is read for a call."""


class Machine(Protocol):
    """The device that cases run on, and how it is timed."""

    def clock(self) -> AbstractContextManager[Clock]:
        """Return a clock for one case."""

    def free_bytes(self) -> int:
        """Return the free memory."""

    def synchronize(self) -> None:
        """Wait for the device."""

    def tidy(self) -> None:
        """Give memory that a case no longer uses back to the device."""


class Observer(Protocol):
    """Is told of a run as it goes."""

    def starts(self, case: str) -> None:
        """A case starts."""

    def has(self, row: Row) -> None:
        """A case is done."""

    def has_host(self, row: HostRow) -> None:
        """The host times of an op are known."""


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes:
        cases: The cases, in order.
        effort: How hard to measure.
        host_calls: Calls between two readings of the host's clock.
        path: Where the results are written.
        deadline: When to start no further case, on the clock of `run`.
        peers: The peers to run; None runs all.
    """

    cases: Sequence[Case]
    effort: Effort
    host_calls: int
    path: Path
    deadline: float = float("inf")
    peers: Sequence[str] | None = None


def run(
    plan: Plan,
    machine: Machine,
    results: Results,
    observer: Observer,
    now: Callable[[], float] = time.monotonic,
) -> Results:
    """Run the cases that the deadline allows and return *results* with their rows.

    The file is written after every case and names what is unfinished, so a run that is stopped
    loses the case it was in and nothing else.
    """
    waiting = [case.name for case in plan.cases]
    results = msgspec.structs.replace(results, unfinished=tuple(waiting))
    write(results, plan.path)
    smallest = _smallest(plan.cases)
    longest = 0.0
    for case in plan.cases:
        started = now()
        if started + longest / 2 > plan.deadline:
            break
        observer.starts(case.name)
        row, host = _run_case(case, plan, machine, results, case.name in smallest)
        machine.tidy()
        observer.has(row)
        if host is not None:
            observer.has_host(host)
        waiting.remove(case.name)
        results = msgspec.structs.replace(
            results,
            rows=(*results.rows, row),
            hosts=results.hosts if host is None else (*results.hosts, host),
            unfinished=tuple(waiting),
        )
        write(results, plan.path)
        longest = max(longest, now() - started)
    return results


@torch.no_grad()
def _run_case(
    case: Case, plan: Plan, machine: Machine, results: Results, with_host: bool
) -> tuple[Row, HostRow | None]:
    row = Row(
        op=case.entry.name,
        family=case.entry.family,
        workload=case.workload.name,
        source=case.source,
        about=case.workload.about,
        params={name: str(value) for name, value in case.params.items()},
        inputs={name: str(one) for name, one in case.workload.inputs.items()},
        status="failed",
        flops=case.cost.flops,
        bytes=case.cost.bytes,
    )
    settings = results.settings
    try:
        family = family_of(case.entry.family)
        count = sets_for(case, machine.free_bytes(), settings.cold_bytes, plan.effort.most)
        sets = input_sets(case, count, settings.seed, family.fills)
        contest = Contest.of(case, sets, family, plan.peers)
        with machine.clock() as clock:
            times = measure(clock, contest.launches(), plan.effort)
        row = _timed(row, contest, times, results)
        return row, _host(contest, plan, machine) if with_host else None
    except Exception as error:
        # A case that fails is reported, and the others are run. What it has stays in its row.
        return msgspec.structs.replace(row, detail=described(error)), None


def _timed(row: Row, contest: Contest, times: dict[str, Timing | Failure], results: Results) -> Row:
    row = msgspec.structs.replace(row, keys=contest.subject.keys, sets=len(contest.sets))
    ours = times[OURS]
    if isinstance(ours, Failure):
        return msgspec.structs.replace(row, detail=ours.reason, peers=contest.rows)
    bound, roofline_us = roofline(contest.case, results.ceilings)
    copy = times.get(COPY)
    copied = copy if isinstance(copy, Timing) else None
    return msgspec.structs.replace(
        row,
        status="timed",
        timing=ours,
        bound=bound,
        roofline_us=round(roofline_us, 4),
        fraction=round(roofline_us / ours.median_us, 4),
        copy=copied,
        of_copy=None if copied is None else round(copied.median_us / ours.median_us, 4),
        peers=tuple(_peer(one, times.get(one.name), ours) for one in contest.rows),
    )


def _peer(row: PeerRow, timing: Timing | Failure | None, ours: Timing) -> PeerRow:
    if timing is None:
        return row
    if isinstance(timing, Failure):
        return msgspec.structs.replace(row, status="failed", detail=timing.reason)
    speedup = round(timing.median_us / ours.median_us, 4)
    return msgspec.structs.replace(row, timing=timing, speedup=speedup)


def _host(contest: Contest, plan: Plan, machine: Machine) -> HostRow:
    us = host_times(contest.host_calls(), machine.synchronize, plan.host_calls, HOST_ROUNDS)
    return HostRow(op=contest.case.entry.name, workload=contest.case.workload.name, us=us)


def _smallest(cases: Sequence[Case]) -> frozenset[str]:
    """Return the smallest workload of every op: its device time hides behind the host's."""
    smallest: dict[str, Case] = {}
    for case in cases:
        known = smallest.setdefault(case.entry.name, case)
        if case.cost.bytes < known.cost.bytes:
            smallest[case.entry.name] = case
    return frozenset(case.name for case in smallest.values())
