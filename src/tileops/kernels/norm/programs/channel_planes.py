"""The channels of a tensor (n, c, *spatial), as blocks walk them: values without TileLang.

*By planes*: one channel, plane after plane, an access every lane. Every access lies in one plane.
*By columns*: several channels side by side, whose planes together are whole 16-byte accesses, or
long enough for whole sectors. A thread stays at the same access of every sample, so it meets the
same channels in each, however an access straddles them.
"""

import math
from dataclasses import dataclass, field
from functools import partial

__all__ = [
    "ACCESS",
    "LONGEST_COLUMN",
    "SHORTEST_ACCESS",
    "SHORTEST_PLANE",
    "UNITS_OF_PAIRS",
    "Planes",
    "chunk",
    "side_by_side",
]

SHORTEST_PLANE = 128
"""Bytes of a plane below which an access of every lane would leave parts of sectors unused."""

LONGEST_COLUMN = 320
"""Elements of a plane that is walked by columns at most: a row of eight fits a block's threads."""

ACCESS = 16
"""Bytes of the widest access."""

# Planes of 14 x 14 16-bit elements took 0.95 of the time that two a block take, 0.87 backward.
SHORTEST_ACCESS = 8
"""Bytes of the shortest access that serves a plane by itself better than it serves several."""

UNITS_OF_PAIRS = 2
"""Units of an access that crosses from one plane to the next in its middle."""


@dataclass(frozen=True, slots=True)
class Planes:
    """The channels of a tensor, and the streams of data that a program reads of them.

    Attributes:
        samples: Samples, each with a plane of every channel.
        channels: Channels.
        spatial: Elements of a plane.
        itemsize: Bytes of an element.
        by_columns: Whether they are walked by columns.
        streams: Tensors of this shape that are read for the result.
        vector: Elements of the widest access that divides a plane, or a sample walked by columns.
        units: Parts of an access that may belong to different channels.
        items: What a group is cut into: accesses of a channel, or samples of columns.
    """

    samples: int
    channels: int
    spatial: int
    itemsize: int
    by_columns: bool
    streams: int = 1
    vector: int = field(init=False, repr=False)
    units: int = field(init=False, repr=False)
    items: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Derive what every layout asks for many times."""
        whole = self.channels * self.spatial if self.by_columns else self.spatial
        vector = math.gcd(whole, ACCESS // self.itemsize)
        derive = partial(object.__setattr__, self)
        derive("vector", vector)
        derive("units", vector // math.gcd(vector, self.spatial))
        accesses = self.samples * self.spatial // vector
        derive("items", self.samples if self.by_columns else accesses)

    @property
    def group(self) -> int:
        """Channels that a block takes at least."""
        # Four planes of half an access beyond whole ones are whole sectors, which no two blocks
        # share: backward they took 0.96 of the time that two take.
        halves = self.units == UNITS_OF_PAIRS and self.vector * self.itemsize == ACCESS
        return 4 if halves else self.units


def side_by_side(spatial: int, itemsize: int, shortest: int = SHORTEST_ACCESS) -> bool:
    """Whether planes should be walked by columns: each alone wastes accesses.

    Args:
        spatial: Elements of a plane.
        itemsize: Bytes of an element.
        shortest: Bytes of the shortest access that is worth more than several planes at a time.
    """
    size = spatial * itemsize
    return spatial <= LONGEST_COLUMN and (size % shortest > 0 or size < SHORTEST_PLANE)


def chunk(items: int, parts: int, by_columns: bool) -> int:
    """Return the items of one of several equal parts; accesses are dealt out in whole sectors."""
    share = -(-items // parts)
    return share if by_columns or parts == 1 else -(-share // 8) * 8
