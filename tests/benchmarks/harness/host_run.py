"""A run of host times alone: no device is timed, so that the machine is quiet and it is short.

Results of the same commit take their host times from it; see `harness.merge`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
import torch

from harness.case import Case, smallest_of
from harness.host_row import host_row
from harness.record import HostRow, Results
from harness.session import Machine, Observer, Plan, contest_of
from harness.store import write
from harness.timing import described

__all__ = ["run_hosts"]


def run_hosts(
    plan: Plan,
    machine: Machine,
    results: Results,
    observer: Observer,
    now: Callable[[], float] = time.monotonic,
) -> Results:
    """Measure the host times of every op that the deadline allows, and return all *results*.

    Of the cases of an op, the smallest is measured. The file is written after each.
    """
    cases = smallest_of(plan.cases)
    waiting = [case.name for case in cases]
    results = msgspec.structs.replace(results, unfinished=tuple(waiting))
    write(results, plan.path)
    for case in cases:
        if now() > plan.deadline:
            break
        observer.starts(case.name)
        host = _measured(case, plan, machine, results)
        machine.tidy()
        observer.has_host(host)
        waiting.remove(case.name)
        hosts = (*results.hosts, host)
        results = msgspec.structs.replace(results, hosts=hosts, unfinished=tuple(waiting))
        write(results, plan.path)
    return results


@torch.no_grad()
def _measured(case: Case, plan: Plan, machine: Machine, results: Results) -> HostRow:
    try:
        contest = contest_of(case, plan.peers, plan, machine, results)
        return host_row(contest, machine.synchronize, plan.host_calls)
    except Exception as error:
        # An op that fails is reported, and the others are measured.
        name = case.entry.name
        return HostRow(op=name, workload=case.workload.name, us={}, detail=described(error))
