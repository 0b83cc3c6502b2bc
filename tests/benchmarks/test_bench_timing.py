"""The timing core on counted clocks: what a launch costs, how many there are, what fails."""

from __future__ import annotations

import pytest
from counted import CountedClock
from harness.clock import Launch
from harness.record import Timing
from harness.timing import FULL, Effort, Failure, TimingError, measure, measure_one

NOTHING = Launch(lambda i: None, sets=3)
EFFORT = Effort(repetitions=5, seconds=1e-3)


@pytest.mark.parametrize(
    ("cost", "floor"),
    [
        pytest.param(2e-6, 5e-6, id="shorter-than-the-floor"),
        pytest.param(2e-6, 0.0, id="no-floor"),
        pytest.param(130e-6, 16e-6, id="long"),
    ],
)
def test_the_floor_of_a_replay_is_no_part_of_a_launch(cost, floor):
    """The time of a launch does not depend on what every replay costs."""
    timing = measure_one(CountedClock(cost, floor), NOTHING, EFFORT)
    assert timing.median_us == pytest.approx(1e6 * cost)
    assert timing.samples == 5


@pytest.mark.parametrize(
    ("estimate", "launches"),
    [
        pytest.param(1e-7, 400, id="at-most"),
        pytest.param(0.0, 400, id="nothing"),
        pytest.param(10e-6, 200, id="between"),
        pytest.param(500e-6, 4, id="exactly-at-least"),
        pytest.param(1.0, 4, id="at-least"),
    ],
)
def test_launches_aim_at_a_device_time(estimate, launches):
    """A full run aims at two milliseconds, between four and four hundred launches."""
    assert FULL.launches(estimate) == launches


def test_the_short_row_has_a_quarter_of_the_launches():
    """Four launches probe; then the short and the long row are recorded."""
    clock = CountedClock(cost=10e-6, floor=0.0)
    timing = measure_one(clock, NOTHING, Effort(repetitions=1, seconds=1e-3))
    assert clock.recorded == [4, 25, 100]
    assert timing.launches == 100


def test_every_replay_of_a_sample_starts_cold():
    """The caches are evicted before each of the two replays of a sample."""
    clock = CountedClock()
    measure_one(clock, NOTHING, EFFORT)
    assert clock.flushes == 2 * 5


@pytest.mark.parametrize(
    ("period", "wide"), [pytest.param(31, False, id="rare"), pytest.param(7, True, id="frequent")]
)
def test_disturbances_move_no_median(period, wide):
    """Frequent ones show in the spread, rare ones not even there."""
    clock = CountedClock(cost=10e-6, noise=(0.0,) * (period - 1) + (5e-4,))
    timing = measure_one(clock, NOTHING, Effort(repetitions=21, seconds=1e-3))
    assert timing.median_us == pytest.approx(10.0)
    assert (timing.spread > 0.1) == wide


def test_a_summary_has_the_median_and_the_deciles():
    """Of the samples 1 to 21 the median is 11, and the deciles are 3 and 19."""
    timing = Timing.of([i * 1e-6 for i in range(1, 22)], launches=8)
    assert (timing.low_us, timing.median_us, timing.high_us) == (3.0, 11.0, 19.0)
    assert timing.spread == pytest.approx(16 / 11)


def test_samples_that_make_no_sense_are_an_error():
    """A longer row that takes no longer gives no time."""
    with pytest.raises(TimingError, match="too busy"):
        measure_one(CountedClock(cost=0.0), NOTHING, EFFORT)
    outcome = measure(CountedClock(cost=0.0), {"ours": NOTHING}, EFFORT)
    assert isinstance(outcome["ours"], Failure)


def test_a_contestant_that_raises_leaves_the_others_timed():
    """Its failure carries the reason; the order is that of the contestants."""

    def broken(i):
        raise ValueError("no\nkernel")

    clock = CountedClock(cost=lambda result: result)
    contestants = {
        "ours": Launch(lambda i: 1e-5, 2),
        "broken": Launch(broken, 2),
        "peer": Launch(lambda i: 3e-5, 2),
    }
    outcome = measure(clock, contestants, EFFORT)
    assert list(outcome) == ["ours", "broken", "peer"]
    assert outcome["broken"] == Failure("ValueError: no kernel")
    assert outcome["ours"].median_us == pytest.approx(10.0)
    assert outcome["peer"].median_us == pytest.approx(30.0)
