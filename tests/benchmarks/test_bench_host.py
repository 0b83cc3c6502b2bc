"""Readings of host time: what one covers, which rounds count, and how a row is made of them."""

from __future__ import annotations

import math
import os
import threading

import pytest
from harness.host import STEPS, WARM_UP, back_to_back, each_once, fast_rounds, on_one_core, pace
from harness.host_row import middle


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


def test_a_reading_of_new_sizes_covers_calls_that_are_made_once():
    """One more comes first and is not timed; too few calls are not made."""
    calls, waits = [], []
    made = iter([lambda place=place: calls.append(place) for place in range(6)])
    read = each_once(made, lambda: waits.append(1), 3, clock(5.0, 5.75))
    assert read() == 0.25
    assert (calls, len(waits)) == ([0, 1, 2, 3], 1)
    assert read() == math.inf
    assert (calls, len(waits)) == ([0, 1, 2, 3], 1)


def series(order, name, seconds):
    """Return a reading that notes its name and gives these seconds in turn."""
    left = iter(seconds)

    def read():
        order.append(name)
        return next(left)

    return read


def test_the_rounds_count_that_the_core_ran_through_at_its_fastest():
    """A round that became slow on the way is dropped as one that was slow throughout."""
    order = []
    readings = {
        "op": series(order, "op", [9e-6, 9e-6, 15e-6, 8e-6]),
        "bare": series(order, "bare", [4e-6, 7e-6, 7e-6, 3e-6]),
    }
    paces = [1.05, 1.0, 1.0, *[1.0, 1.0, 1.7], *[1.7, 1.7, 1.7], *[1.0, 1.09, 1.0]]
    pace = series(order, "pace", paces)
    rounds = fast_rounds(readings, 4, pace, slack=1.1)
    assert [{name: round(us) for name, us in one.items()} for one in rounds] == [
        {"op": 9, "bare": 4},
        {"op": 8, "bare": 3},
    ]
    assert order == ["pace", "op", "pace", "bare", "pace"] * 4


def test_the_round_in_the_middle_adds_up():
    """It is chosen by what the op takes beyond its parts, not by how long any of them took."""
    rounds = [
        {"op": 10.0, "bare": 4.0, "empty_like": 2.0},
        {"op": 9.0, "bare": 4.0, "empty_like": 2.5},
        {"op": 8.0, "bare": 1.0, "empty_like": 1.0},
    ]
    assert middle(rounds) is rounds[0]
    assert middle([{"op": 9.0, "empty_like": one} for one in (3.0, 1.0, 2.0)])["empty_like"] == 2.0


def test_the_pace_is_that_of_a_loop():
    """Its length is the same every time, and some seconds pass."""
    assert pace(clock(2.0, 2.5)) == 0.5
    assert 0 < pace() < STEPS * 1e-5


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
        assert fast_rounds({"op": lambda: 2.0}, 1, lambda: 1.0) == [{"op": 2e6}]
