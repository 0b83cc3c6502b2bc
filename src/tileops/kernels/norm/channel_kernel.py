"""ChannelKernel: what the kernels that normalize channels share."""

from __future__ import annotations

import torch

from tileops.device import allocated_apart
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.call_spec import BatchNormCall
from tileops.kernels.norm.programs.channel_layout import BESIDE, ChannelLayout, passing
from tileops.kernels.norm.programs.channel_planes import (
    ACCESS,
    LONGEST_COLUMN,
    SHORTEST_ACCESS,
    Planes,
    side_by_side,
)

__all__ = ["ChannelKernel"]


class ChannelKernel(Kernel):
    """A kernel whose program is built for a layout of channels, for any number of samples.

    Attributes:
        streams: Tensors as large as the data that its program reads.
    """

    supported_archs: list[int] = [80, 86, 89, 90]
    streams: int = 1

    @classmethod
    def room(cls, call: BatchNormCall) -> int:
        """Return the bytes of data that a block can stage beside its statistics."""
        return (call.smem_budget or 0) - BESIDE

    @classmethod
    def shortest(cls, call: BatchNormCall) -> int:
        """Return the bytes of the shortest access that is worth more than several planes."""
        return SHORTEST_ACCESS

    @classmethod
    def short(cls, call: BatchNormCall) -> bool:
        """Return whether neighbouring planes go together, where they wait on the chip."""
        return side_by_side(call.spatial, call.itemsize, cls.shortest(call))

    @classmethod
    def straddles(cls, call: BatchNormCall) -> bool:
        """Return whether planes that may be walked by columns are no whole accesses."""
        return call.spatial <= LONGEST_COLUMN and call.spatial % (ACCESS // call.itemsize) > 0

    @classmethod
    def planes(cls, call: BatchNormCall) -> Planes:
        """Describe the channels of *call*, and how they are walked."""
        return Planes(call.n, call.c, call.spatial, call.itemsize, call.short, cls.streams)

    @classmethod
    def layout(cls, call: BatchNormCall) -> ChannelLayout:
        """Lay out the channels of a call that this implementation serves."""
        return passing(cls.planes(call), call.device_facts())

    def __init__(self) -> None:
        """Keep what says where to launch: the launches take every other tensor by its address."""
        super().__init__()
        device = torch.device("cuda", torch.cuda.current_device())
        self._anchor = allocated_apart(lambda: torch.empty(1, device=device))
