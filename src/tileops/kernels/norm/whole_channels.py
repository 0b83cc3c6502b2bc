"""WholeChannels: the calls whose channels each fit the shared memory of one block."""

from __future__ import annotations

from tileops.kernels.norm.call_spec import BatchNormCall
from tileops.kernels.norm.channel_kernel import ChannelKernel
from tileops.kernels.norm.programs.channel_layout import ChannelLayout, on_chip
from tileops.kernels.norm.programs.channel_planes import SHORTEST_PLANE, Planes

__all__ = ["WholeChannels"]


class WholeChannels(ChannelKernel):
    """A channel is read once, plane after plane, and waits in the shared memory of its block."""

    @classmethod
    def refusal(cls, call: BatchNormCall) -> str | None:
        """Refuse planes of a fraction of a sector, and channels that one block cannot hold."""
        plane = call.spatial * call.itemsize
        if plane < SHORTEST_PLANE:
            return f"serves planes of at least {SHORTEST_PLANE} bytes, got {plane}"
        size, room = cls.streams * call.n * plane, cls.room(call)
        if size > room:
            return f"serves channels that take at most {room} bytes, got {size}"
        return super().refusal(call)

    @classmethod
    def planes(cls, call: BatchNormCall) -> Planes:
        """Walk planes, whatever their size."""
        return Planes(call.n, call.c, call.spatial, call.itemsize, False, cls.streams)

    @classmethod
    def layout(cls, call: BatchNormCall) -> ChannelLayout:
        """Stage a channel in each block."""
        layout = on_chip(cls.planes(call), call.device_facts())
        assert layout is not None
        return layout
