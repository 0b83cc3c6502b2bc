"""How blocks that go on from channel to channel stage them: a value picked without TileLang."""

from dataclasses import dataclass

from tileops.device import DeviceFacts
from tileops.kernels.norm.programs.channel_layout import LARGEST_CLUSTER
from tileops.kernels.norm.programs.channel_planes import ACCESS, Planes

__all__ = [
    "BESIDE_PIECES",
    "LEAST_IN_TURN",
    "LEAST_STANDING",
    "LONGEST_STANDING",
    "SHORTEST_STANDING",
    "STANDING_STEP",
    "StandingLayout",
    "standing_layout",
]

BESIDE_PIECES = 8 << 10
"""Bytes of a block's shared memory that statistics and barriers take beside the pieces."""

LEAST_STANDING = LARGEST_CLUSTER * (104 << 10)
"""Bytes of a channel beyond which a multiprocessor holds one of its sixteen slices, not two."""

LEAST_IN_TURN = 128
"""Channels from which on every block has several."""

SHORTEST_STANDING, LONGEST_STANDING, STANDING_STEP = 1 << 10, 32 << 10, 128
"""Bytes of planes, and what divides them, that fall into pieces neither too long nor too short."""

_THREADS = 256

# Bytes of a piece: a warp refills it while it works on its others.
_LONGEST_PIECE, _SHORTEST_PIECE = 4 << 10, 1 << 10


@dataclass(frozen=True, slots=True)
class StandingLayout:
    """How standing blocks walk channels of one plane size; the number of samples varies.

    Attributes:
        vector: Elements of one access.
        threads: Threads of one block.
        cluster: Blocks that share a channel.
        parts: Pieces of a plane.
        per: Pieces that a warp stages at most.
        standing: Channels at a time; their blocks go on to further ones.
    """

    vector: int
    threads: int
    cluster: int
    parts: int
    per: int
    standing: int


def standing_layout(planes: Planes, facts: DeviceFacts) -> StandingLayout:
    """Lay out channels for the largest clusters, which stay.

    Args:
        planes: The channels, walked by planes of whole accesses.
        facts: Those of the device.
    """
    parts = _parts(planes.spatial * planes.itemsize)
    pieces = -(-planes.samples // LARGEST_CLUSTER) * parts
    return StandingLayout(
        vector=planes.vector,
        threads=_THREADS,
        cluster=LARGEST_CLUSTER,
        parts=parts,
        per=-(-pieces // (_THREADS // 32)),
        # Multiprocessors divide into clusters unevenly: a cluster more would wait for the others.
        standing=max(1, (facts.sm_count or 1) // LARGEST_CLUSTER - 1),
    )


def _parts(size: int) -> int:
    """Into how many equal pieces of whole accesses a plane of *size* bytes falls."""
    fitting = range(-(-size // _LONGEST_PIECE), size // _SHORTEST_PIECE + 1)
    return next((parts for parts in fitting if size % (parts * ACCESS) == 0), 1)
