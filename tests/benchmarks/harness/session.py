"""A run: the cases one after another, within a budget, every result written as it comes.

Our op and the peers that are quick to compile come first, so that a run which ends early lacks
slow peers rather than ops.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec
import torch

from harness.case import Case, smallest_of
from harness.ceilings import roofline
from harness.clock import Clock
from harness.contest import COPY, OURS, Contest
from harness.host_row import host_row, host_times
from harness.inputs import input_sets, sets_for
from harness.peers import family_of, peers_of
from harness.record import HostRow, PeerRow, Results, Row, Timing
from harness.store import write
from harness.timing import Effort, Failure, described, measure

__all__ = [
    "Machine",
    "Observer",
    "PeersUntimedError",
    "Plan",
    "contest_of",
    "run",
]

NOT_REACHED = "the time did not reach it"
NOT_COMPILED = "it was not compiled ahead in time"


class PeersUntimedError(RuntimeError):
    """Our op could not be timed beside the later peers, which therefore have nothing to compare to.

    Attributes:
        case: The case.
        reason: Why.
    """

    def __init__(self, case: str, reason: str) -> None:
        self.case, self.reason = case, reason
        super().__init__(f"{case}: our op could not be timed beside its later peers: {reason}")


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
        peers: The peers to run beside our op; None runs all.
        later: Further peers, which are run when every case has a time.
        unready: Cases, each with one of the later peers that could not be compiled for it in time.
    """

    cases: Sequence[Case]
    effort: Effort
    host_calls: int
    path: Path
    deadline: float = float("inf")
    peers: Sequence[str] | None = None
    later: Sequence[str] = ()
    unready: frozenset[tuple[str, str]] = frozenset()


def run(
    plan: Plan,
    machine: Machine,
    results: Results,
    observer: Observer,
    now: Callable[[], float] = time.monotonic,
) -> Results:
    """Run the cases that the deadline allows, then the later peers, and return all *results*.

    The file is written after every case and names what is unfinished, so a run that is stopped
    loses the case it was in and nothing else.
    """
    waiting = [case.name for case in plan.cases]
    results = msgspec.structs.replace(results, unfinished=tuple(waiting))
    write(results, plan.path)
    smallest = {case.name for case in smallest_of(plan.cases)}
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
    return _run_later(plan, machine, results, observer, now)


def _run_later(
    plan: Plan,
    machine: Machine,
    results: Results,
    observer: Observer,
    now: Callable[[], float],
) -> Results:
    """Run the later peers, each beside our op once more, and complete the rows of their cases."""
    cases = {case.name: case for case in plan.cases}
    longest = 0.0
    for place, row in enumerate(results.rows):
        case = cases[f"{row.op}/{row.workload}"]
        names = [one.name for one in row.peers if one.status == "unfinished"]
        names = [name for name in names if (case.name, name) not in plan.unready]
        if not names:
            continue
        started = now()
        if started + longest / 2 > plan.deadline:
            break
        observer.starts(case.name)
        complete, us = _run_peers(case, row, names, plan, machine, results)
        machine.tidy()
        observer.has(complete)
        hosts = [_completed(one, row, us) for one in results.hosts]
        rows = (*results.rows[:place], complete, *results.rows[place + 1 :])
        results = msgspec.structs.replace(results, rows=rows, hosts=tuple(hosts))
        write(results, plan.path)
        longest = max(longest, now() - started)
    return results


@torch.no_grad()
def _run_peers(
    case: Case, row: Row, names: Sequence[str], plan: Plan, machine: Machine, results: Results
) -> tuple[Row, dict[str, float]]:
    """Return the row with these peers, and their host times where the case has some."""
    us: dict[str, float] = {}
    try:
        contest = contest_of(case, names, plan, machine, results)
        with machine.clock() as clock:
            times = measure(clock, contest.launches(copy=False), plan.effort)
        ours = times[OURS]
        if isinstance(ours, Failure):
            raise PeersUntimedError(case.name, ours.reason)
        found = {one.name: _peer(one, times.get(one.name), ours) for one in contest.rows}
        if any((one.op, one.workload) == (row.op, row.workload) for one in results.hosts):
            calls = contest.peer_calls()
            us = host_times(calls, machine.synchronize, plan.host_calls)
    except Exception as error:
        # As for a case: what it has stays in its row, and the others are run.
        detail = described(error)
        found = {name: PeerRow(name=name, status="failed", detail=detail) for name in names}
    peers = tuple(found.get(one.name, one) for one in row.peers)
    return msgspec.structs.replace(row, peers=peers), us


def _completed(host: HostRow, row: Row, us: dict[str, float]) -> HostRow:
    same = (host.op, host.workload) == (row.op, row.workload)
    return msgspec.structs.replace(host, us=host.us | us) if same and us else host


def _unfinished(case: Case, plan: Plan) -> tuple[PeerRow, ...]:
    """Return the rows of the later peers until they are run."""
    known = peers_of(family_of(case.entry.family), case.entry.name)
    return tuple(
        PeerRow(
            name=name,
            status="unfinished",
            detail=NOT_COMPILED if (case.name, name) in plan.unready else NOT_REACHED,
        )
        for name in plan.later
        if name in known
    )


def contest_of(
    case: Case, peers: Sequence[str] | None, plan: Plan, machine: Machine, results: Results
) -> Contest:
    """Return a case with its inputs drawn, whose contestants have all run once."""
    settings, family = results.settings, family_of(case.entry.family)
    count = sets_for(case, machine.free_bytes(), settings.cold_bytes, plan.effort.most)
    sets = input_sets(case, count, settings.seed, family.fills)
    return Contest.of(case, sets, family, peers)


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
    try:
        contest = contest_of(case, plan.peers, plan, machine, results)
        with machine.clock() as clock:
            times = measure(clock, contest.launches(), plan.effort)
        row = _timed(row, contest, times, results)
        row = msgspec.structs.replace(row, peers=(*row.peers, *_unfinished(case, plan)))
        host = host_row(contest, machine.synchronize, plan.host_calls) if with_host else None
        return row, host
    except Exception as error:
        # A case that fails is reported, and the others are run. What it has stays in its row.
        return msgspec.structs.replace(row, detail=described(error)), None


def _timed(row: Row, contest: Contest, times: dict[str, Timing | Failure], results: Results) -> Row:
    row = msgspec.structs.replace(row, keys=contest.subject.keys, sets=len(contest.sets))
    ours = times[OURS]
    if isinstance(ours, Failure):
        return msgspec.structs.replace(row, detail=ours.reason, peers=contest.rows)
    assert results.ceilings is not None
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
