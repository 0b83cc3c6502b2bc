"""Host time: what an eager call costs the caller, from calls that follow one another."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any

__all__ = ["host_times"]

WARM_UP = 20


def host_times(
    calls: Mapping[str, Callable[[], Any]],
    synchronize: Callable[[], None],
    count: int,
    rounds: int,
    now: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return the host time of a call in microseconds, the median over the rounds.

    The calls of one round are issued without waiting for the device. Where their work takes it
    longer than the host, they must be few enough for its queue.

    Args:
        calls: What to call, by name; a round calls each of them in turn.
        synchronize: Waits for the device.
        count: Calls between two readings of the clock.
        rounds: How often to read it.
        now: The clock, in seconds.
    """
    for call in calls.values():
        for _ in repeat(None, WARM_UP):
            call()
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            synchronize()
            start = now()
            for _ in repeat(None, count):
                call()
            samples[name].append((now() - start) / count)
    synchronize()
    return {name: round(1e6 * statistics.median(one), 3) for name, one in samples.items()}
