"""Readings of host time: what one covers, and that the least of each is taken."""

from __future__ import annotations

import math
import os
import threading

import pytest
from harness.host import WARM_UP, back_to_back, each_once, least, on_one_core


def clock(*ticks):
    """Return a clock that shows these seconds in turn."""
    left = iter(ticks)
    return lambda: next(left)


def test_a_reading_covers_calls_in_a_row():
    """The device is waited for before, and one call more comes first and is not timed."""
    calls, waits = [], []
    read = back_to_back(lambda: calls.append(1), lambda: waits.append(1), 1000, clock(3.0, 3.01))
    assert (len(calls), len(waits)) == (WARM_UP, 0)
    assert read() == pytest.approx(1e-5)
    assert (len(calls), len(waits)) == (WARM_UP + 1 + 1000, 1)


def test_a_reading_of_new_sizes_is_the_median_of_calls_that_are_made_once():
    """Each call has two readings of the clock to itself; too few calls are not made."""
    calls, waits = [], []
    made = iter([lambda place=place: calls.append(place) for place in range(5)])
    read = each_once(made, lambda: waits.append(1), 3, clock(0.0, 4.0, 5.0, 7.0, 8.0, 17.0))
    assert read() == 4.0
    assert calls == [0, 1, 2]
    assert read() == math.inf
    assert (calls, len(waits)) == ([0, 1, 2], 1)


def test_the_least_of_each_is_taken_in_turns():
    """A round reads everything once, so that one speed of a core is met by all."""
    order = []
    slow_then_fast = {"op": [2e-5, 1e-5, 3e-5], "bare": [8e-6, 4e-6, math.inf]}

    def reading(name):
        def read():
            order.append(name)
            return slow_then_fast[name].pop(0)

        return read

    readings = {name: reading(name) for name in slow_then_fast}
    readings["nothing"] = lambda: math.inf
    assert least(readings, 3) == {"op": 10.0, "bare": 4.0}
    assert order == ["op", "bare"] * 3


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system pins no thread")
def test_a_thread_keeps_to_one_core():
    """It alone, until it is done, whatever happens."""
    before = os.sched_getaffinity(0)
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    seen = []

    def fail():
        seen.append((os.sched_getaffinity(0), os.sched_getaffinity(other.native_id)))
        raise KeyError

    with pytest.raises(KeyError), on_one_core():
        fail()
    done.set()
    other.join()
    ((mine, its),) = seen
    assert len(mine) == 1
    assert mine <= before
    assert its == os.sched_getaffinity(0) == before


def test_a_system_that_pins_nothing_is_measured_all_the_same(monkeypatch):
    """There the thread may move."""
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    with on_one_core():
        assert least({"op": lambda: 1e-6}, 1) == {"op": 1.0}
