"""Host time: what an eager call costs the caller, from readings of many things in turn.

A core may change its speed several times a second, by half and more. So everything is read in
many short rounds, one after another in each, and the least reading of each is taken: all of these
come from the core at its fastest, and their differences mean something. A mean or a median would
set what one speed gave an op against what another gave its parts.
"""

from __future__ import annotations

import ctypes
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice, repeat
from typing import Any

__all__ = ["Reading", "back_to_back", "each_once", "least", "on_one_core"]

WARM_UP = 20

Reading = Callable[[], float]
"""Takes one reading: the seconds of a call."""


def least(readings: Mapping[str, Reading], rounds: int) -> dict[str, float]:
    """Return the least reading of each in microseconds; what had nothing to read is left out.

    Args:
        readings: What to read, by name; a round reads each of them in turn.
        rounds: How often to read each.
    """
    best = dict.fromkeys(readings, math.inf)
    for _ in range(rounds):
        for name, read in readings.items():
            best[name] = min(best[name], read())
    return {name: round(1e6 * one, 3) for name, one in best.items() if one < math.inf}


def back_to_back(
    call: Callable[[], Any],
    synchronize: Callable[[], None],
    count: int,
    now: Callable[[], float] = time.perf_counter,
) -> Reading:
    """Return what reads a call that is made *count* times in a row.

    The device is waited for before a reading and not within it, so the calls must be few enough for
    its queue. One call more comes first: it meets an idle device, which later ones do not.
    """
    for _ in repeat(None, WARM_UP):
        call()

    def read() -> float:
        synchronize()
        call()
        start = now()
        for _ in repeat(None, count):
            call()
        return (now() - start) / count

    return read


def each_once(
    calls: Iterator[Callable[[], Any]],
    synchronize: Callable[[], None],
    count: int,
    now: Callable[[], float] = time.perf_counter,
) -> Reading:
    """Return what reads the next *count* calls, each made once, and takes their median.

    A reading for which too few calls are left is infinite.
    """

    def read() -> float:
        burst = list(islice(calls, count))
        if len(burst) < count:
            return math.inf
        synchronize()
        seconds = []
        for call in burst:
            start = now()
            call()
            seconds.append(now() - start)
        return statistics.median(seconds)

    return read


@contextmanager
def on_one_core() -> Iterator[None]:
    """Keep this thread on the core that it runs on, where the system allows."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {_core(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _core(allowed: set[int]) -> int:
    # The scheduler gives processes that run side by side a core each; one picked by number could
    # be the same for all of them.
    try:
        core: int = ctypes.CDLL(None).sched_getcpu()
    except (AttributeError, OSError):
        core = -1
    return core if core in allowed else max(allowed)
