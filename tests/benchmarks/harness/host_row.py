"""The host times of one case: the op, what it is made of, its peers, and calls of new sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from harness.contest import Contest
from harness.host import Reading, back_to_back, each_once, least, on_one_core
from harness.new_sizes import calls_of_new_sizes
from harness.record import HostRow

__all__ = ["host_row", "host_times"]

ROUNDS = 120
"""How often each is read."""

BURST = 8
"""Calls of new sizes in a reading: the first rounds read them, until all have come."""

NEW_SIZE = "a new size"


def host_row(contest: Contest, synchronize: Callable[[], None], count: int) -> HostRow:
    """Return the host times of a case.

    Args:
        contest: The case.
        synchronize: Waits for the device.
        count: Calls between two readings of the clock.
    """
    new = each_once(calls_of_new_sizes(contest.case), synchronize, BURST)
    us = _least(contest.host_calls(), synchronize, count, {NEW_SIZE: new})
    new_size = us.pop(NEW_SIZE, None)
    over = us["op"] - us["bare"] - us["empty_like"] if "bare" in us else None
    result = contest.subject.result
    return HostRow(
        op=contest.case.entry.name,
        workload=contest.case.workload.name,
        us=us,
        over=None if over is None else round(over, 3),
        new_size=new_size,
        launches=len(contest.bare),
        outputs=1 if isinstance(result, torch.Tensor) else len(result),
    )


def host_times(
    calls: Mapping[str, Callable[[], Any]], synchronize: Callable[[], None], count: int
) -> dict[str, float]:
    """Return the host time of each of some calls in microseconds; see `host_row`."""
    return _least(calls, synchronize, count, {})


def _least(
    calls: Mapping[str, Callable[[], Any]],
    synchronize: Callable[[], None],
    count: int,
    others: Mapping[str, Reading],
) -> dict[str, float]:
    with on_one_core():
        readings = {name: back_to_back(call, synchronize, count) for name, call in calls.items()}
        return least(readings | others, ROUNDS)
