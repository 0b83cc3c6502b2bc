"""Host time: what an eager call costs the caller, from readings of many things in turn.

A core may change its speed several times a second, by half and more. So everything is read in
many short rounds, one after another in each, and beside a loop of the interpreter that is the same
work every time. The rounds in which this loop was about as fast as ever count, all others are
dropped: what is left was read at one speed, and the differences within a round mean something.
"""

from __future__ import annotations

import ctypes
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice, repeat
from typing import Any

__all__ = ["Reading", "Round", "back_to_back", "each_once", "fast_rounds", "on_one_core", "pace"]

WARM_UP = 20

SLACK = 1.1
"""A round counts whose pace was at most so many times the best one."""

STEPS = 2000
"""Steps of the loop that shows the pace: some twenty microseconds."""

Reading = Callable[[], float]
"""Takes one reading: the seconds of a call."""

Round = Mapping[str, float]
"""The readings of a round by name, in microseconds."""


def fast_rounds(
    readings: Mapping[str, Reading], rounds: int, pace: Reading, slack: float = SLACK
) -> list[Round]:
    """Return the rounds that the core ran through at its fastest, in microseconds.

    Args:
        readings: What to read, by name; a round reads each of them in turn.
        rounds: How many rounds to read.
        pace: Reads work that is always the same, before each reading and after the last.
        slack: How much slower than ever this may have been in a round that counts.
    """
    read: list[tuple[float, Round]] = []
    for _ in range(rounds):
        paces, us = [pace()], {}
        for name, one in readings.items():
            us[name] = 1e6 * one()
            paces.append(pace())
        read.append((max(paces), us))
    fastest = min(slowest for slowest, _ in read)
    return [us for slowest, us in read if slowest <= fastest * slack]


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
    """Return what reads the next *count* calls, each made once, in a row.

    As in `back_to_back` one call more comes first. A reading for which too few calls are left is
    infinite.
    """

    def read() -> float:
        burst = list(islice(calls, count + 1))
        if len(burst) <= count:
            return math.inf
        synchronize()
        burst[0]()
        start = now()
        for call in burst[1:]:
            call()
        return (now() - start) / count

    return read


def pace(now: Callable[[], float] = time.perf_counter) -> float:
    """Read a loop of the interpreter that does nothing."""
    start = now()
    for _ in repeat(None, STEPS):
        pass
    return now() - start


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
