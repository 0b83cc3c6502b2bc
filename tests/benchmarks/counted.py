"""A device that is only counted: clocks whose times are formulas, and a machine of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from harness.clock import Launch


class CountedReplay:
    """A replay whose time is a formula."""

    def __init__(self, clock: CountedClock, cost: float, count: int) -> None:
        self.clock, self.cost, self.count = clock, cost, count

    def seconds(self) -> float:
        """Return the floor, the launches, and the next disturbance."""
        self.clock.replays += 1
        noise = self.clock.noise[self.clock.replays % len(self.clock.noise)]
        return self.clock.floor + self.cost * self.count + noise


class CountedClock:
    """A clock that runs every launch once and charges what its first set says in seconds.

    Args:
        cost: Seconds of a launch, or a function of what the launch returned.
        floor: Seconds that every replay takes on top.
        noise: Disturbances of successive replays, in turn.
    """

    def __init__(self, cost=1e-5, floor=5e-6, noise=(0.0,)):
        self.cost, self.floor, self.noise = cost, floor, noise
        self.replays = self.flushes = 0
        self.recorded: list[int] = []

    def record(self, launch: Launch, count: int) -> CountedReplay:
        """Run the launch on the set that comes first."""
        result = launch.run(0)
        self.recorded.append(count)
        return CountedReplay(self, self.cost(result) if callable(self.cost) else self.cost, count)

    def flush(self) -> None:
        """Count."""
        self.flushes += 1


class CountedMachine:
    """A machine of counted clocks with a given amount of memory."""

    def __init__(self, free=2**30, cost=1e-5):
        self.free, self.cost = free, cost
        self.tidied = 0

    @contextmanager
    def clock(self) -> Iterator[CountedClock]:
        """Yield a new clock."""
        yield CountedClock(self.cost)

    def free_bytes(self) -> int:
        """Return the memory."""
        return self.free

    def synchronize(self) -> None:
        """Nothing runs on its own here."""

    def tidy(self) -> None:
        """Count."""
        self.tidied += 1
