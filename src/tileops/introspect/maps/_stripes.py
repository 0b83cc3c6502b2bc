"""Folding a line of many short intervals: outcomes that repeat with a period are said once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tileops.introspect.maps._line import Interval

__all__ = ["Stripes", "folded"]

_MOST_IN_PERIOD: Final = 16
"""Periods of more intervals than this are no help to a reader."""

_LEAST_REPEATS: Final = 3


@dataclass(frozen=True)
class Stripes:
    """A stretch where the outcome depends on the remainder by *period* only.

    Attributes:
        low: Its first number.
        high: Its last.
        period: The period.
        outcomes: For each outcome, the remainders that have it.
    """

    low: int
    high: int
    period: int
    outcomes: tuple[tuple[str, tuple[int, ...]], ...]


def folded(intervals: Sequence[Interval]) -> tuple[Interval | Stripes, ...]:
    """Return the same line with its striped stretches folded."""
    found: list[Interval | Stripes] = []
    place = 0
    while place < len(intervals):
        count, inside = _longest_repetition(intervals, place)
        if count:
            found.append(_stripes(intervals[place : place + count], inside))
            place += count
        else:
            found.append(intervals[place])
            place += 1
    return tuple(found)


def _longest_repetition(intervals: Sequence[Interval], start: int) -> tuple[int, int]:
    """Return how many intervals from *start* repeat, and how many make a period; 0 for none."""
    best = (0, 0)
    for inside in range(2, _MOST_IN_PERIOD + 1):
        end = start + inside
        while end < len(intervals) and _alike(intervals[end], intervals[end - inside]):
            end += 1
        count = end - start
        if count >= _LEAST_REPEATS * inside and count > best[0]:
            best = (count, inside)
    return best


def _alike(one: Interval, other: Interval) -> bool:
    return (one.outcome, one.high - one.low) == (other.outcome, other.high - other.low)


def _stripes(stretch: Sequence[Interval], inside: int) -> Stripes:
    low, high = stretch[0].low, stretch[-1].high
    period = stretch[inside].low - low
    remainders: dict[str, list[int]] = {}
    for one in stretch[:inside]:
        numbers = [number % period for number in range(one.low, one.high + 1)]
        remainders.setdefault(one.outcome, []).extend(numbers)
    named = tuple((outcome, tuple(sorted(found))) for outcome, found in remainders.items())
    return Stripes(low, high, period, named)
