"""The host times of one case: the op, what it is made of, its peers, and calls of new sizes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from harness.contest import Contest
from harness.host import Reading, Round, back_to_back, each_once, fast_rounds, on_one_core, pace
from harness.new_sizes import calls_of_new_sizes
from harness.record import HostRow

__all__ = ["host_row", "host_times", "middle"]

PARTS = ("op", "bare", "empty_like")
"""What is read together: an op, and what it is made of."""

ROUNDS = 120
"""How often each is read."""

BURST = 7
"""Calls of new sizes in a reading, beside the one that comes first."""

BURSTS = 12
"""How often calls of new sizes are read."""


def host_row(contest: Contest, synchronize: Callable[[], None], count: int) -> HostRow:
    """Return the host times of a case.

    The op, its compiled functions and the allocation come from one round, the one that is in the
    middle by what the op takes beyond the two; so the row adds up.

    Args:
        contest: The case.
        synchronize: Waits for the device.
        count: Calls between two readings of the clock; so few that a core hardly changes its speed.
    """
    calls = contest.host_calls()
    parts = {name: call for name, call in calls.items() if name in PARTS}
    peers = {name: call for name, call in calls.items() if name not in PARTS}
    with on_one_core():
        parted = middle(_fast(parts, synchronize, count))
        new = each_once(calls_of_new_sizes(contest.case), synchronize, BURST)
        new_size = 1e6 * min(new() for _ in range(BURSTS))
    us = {name: round(one, 3) for name, one in parted.items()}
    result = contest.subject.result
    return HostRow(
        op=contest.case.entry.name,
        workload=contest.case.workload.name,
        us=us | host_times(peers, synchronize, count),
        over=round(_over(us), 3) if "bare" in us else None,
        new_size=round(new_size, 3) if new_size < math.inf else None,
        launches=len(contest.bare),
        outputs=1 if isinstance(result, torch.Tensor) else len(result),
    )


def host_times(
    calls: Mapping[str, Callable[[], Any]], synchronize: Callable[[], None], count: int
) -> dict[str, float]:
    """Return the host time of each of some calls in microseconds: the median of the fast rounds."""
    us = {}
    with on_one_core():
        for name, call in calls.items():
            read = [one[name] for one in _fast({name: call}, synchronize, count)]
            us[name] = round(statistics.median(read), 3)
    return us


def _fast(
    calls: Mapping[str, Callable[[], Any]], synchronize: Callable[[], None], count: int
) -> list[Round]:
    readings: dict[str, Reading] = {
        name: back_to_back(call, synchronize, count) for name, call in calls.items()
    }
    return fast_rounds(readings, ROUNDS, pace)


def middle(rounds: Sequence[Round]) -> Round:
    """Return the round in which what an op takes beyond its parts is the median."""
    return sorted(rounds, key=_over)[len(rounds) // 2]


def _over(us: Round) -> float:
    """Return what an op takes beyond its parts, which may be unknown."""
    return us["op"] - us["empty_like"] - us.get("bare", 0.0)
