"""Clocks: what the timing core asks of a device, so that it can be tested without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Clock", "Launch", "Replay"]


@dataclass(frozen=True)
class Launch:
    """A call to be timed.

    Attributes:
        run: Launches on the set of inputs with this number and returns what was computed.
        sets: How many sets of inputs there are.
    """

    run: Callable[[int], Any]
    sets: int


class Replay(Protocol):
    """Recorded launches."""

    def seconds(self) -> float:
        """Run the launches once and return their device time."""


class Clock(Protocol):
    """A device that records launches and runs them again."""

    def record(self, launch: Launch, count: int) -> Replay:
        """Record *count* launches in a row, over the sets of inputs in turn.

        Results stay alive until every set has been used, so that outputs rotate as inputs do.
        """

    def flush(self) -> None:
        """Evict everything that earlier launches left in the caches."""
