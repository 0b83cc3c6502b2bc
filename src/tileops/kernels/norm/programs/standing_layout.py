"""How blocks that go on from channel to channel stage them: a value picked without TileLang."""

from dataclasses import dataclass

__all__ = ["StandingLayout"]


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
