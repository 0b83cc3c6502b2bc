"""The timing core: how often to launch, and what one launch costs.

One replay of a graph has a floor of several microseconds, so a launch is the difference between
a long and a short row of launches over the difference of their lengths. Each sample replays
every contestant once, in turn: what disturbs the machine meanwhile disturbs all of them alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.clock import Clock, Launch, Replay
from harness.record import Timing

__all__ = ["FULL", "QUICK", "Effort", "Failure", "TimingError", "measure", "measure_one"]

PROBE = 4
"""Launches recorded to choose the number of launches."""


@dataclass(frozen=True)
class Effort:
    """How hard to measure.

    Attributes:
        repetitions: Samples of each contestant.
        seconds: Device time that the longer row of launches aims at.
        fewest: Launches that it has at least.
        most: Launches that it has at most: recording costs host time.
    """

    repetitions: int
    seconds: float
    fewest: int = 4
    most: int = 400

    def launches(self, estimate: float) -> int:
        """Return the launches of the longer row for a call that takes about *estimate*."""
        wanted = round(self.seconds / estimate) if estimate > 0 else self.most
        return max(self.fewest, min(self.most, wanted))


FULL = Effort(repetitions=21, seconds=2e-3)
QUICK = Effort(repetitions=7, seconds=0.5e-3, most=100)


class TimingError(ArithmeticError):
    """A longer row of launches took no longer than a shorter one.

    Attributes:
        slope: The seconds of a launch that came out.
    """

    def __init__(self, slope: float) -> None:
        self.slope = slope
        super().__init__(f"a launch came out at {slope:.3g} s; the machine is too busy to time it")


@dataclass(frozen=True)
class Failure:
    """A contestant that could not be timed, and why."""

    reason: str


@dataclass(frozen=True)
class _Rows:
    short: Replay
    long: Replay
    fewer: int
    launches: int

    def sample(self, clock: Clock) -> float:
        clock.flush()
        short = self.short.seconds()
        clock.flush()
        return (self.long.seconds() - short) / (self.launches - self.fewer)


def measure(
    clock: Clock, contestants: Mapping[str, Launch], effort: Effort
) -> dict[str, Timing | Failure]:
    """Time every contestant, sample by sample in turn.

    A contestant that raises while it is recorded is left out and the others are timed.
    """
    rows: dict[str, _Rows] = {}
    outcome: dict[str, Timing | Failure] = {}
    for name, launch in contestants.items():
        try:
            rows[name] = _record(clock, launch, effort)
        except Exception as error:
            # A peer may raise anything at all; that is a result about the peer.
            outcome[name] = Failure(described(error))
    samples: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(effort.repetitions):
        for name, row in rows.items():
            samples[name].append(row.sample(clock))
    for name, row in rows.items():
        timing = Timing.of(samples[name], row.launches)
        outcome[name] = (
            timing if timing.median_us > 0 else Failure(str(TimingError(timing.median_us * 1e-6)))
        )
    return {name: outcome[name] for name in contestants}


def measure_one(clock: Clock, launch: Launch, effort: Effort) -> Timing:
    """Time one contestant.

    Raises:
        TimingError: The samples make no sense.
    """
    row = _record(clock, launch, effort)
    samples = [row.sample(clock) for _ in range(effort.repetitions)]
    timing = Timing.of(samples, row.launches)
    if timing.median_us <= 0:
        raise TimingError(timing.median_us * 1e-6)
    return timing


def described(error: BaseException) -> str:
    """Return an error on one line, short enough for a table."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 300 else f"{text[:297]}..."


def _record(clock: Clock, launch: Launch, effort: Effort) -> _Rows:
    probe = clock.record(launch, PROBE)
    estimate = min(probe.seconds() for _ in range(3)) / PROBE
    launches = effort.launches(estimate)
    fewer = max(1, launches // 4)
    return _Rows(clock.record(launch, fewer), clock.record(launch, launches), fewer, launches)
