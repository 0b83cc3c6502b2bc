"""ClusterChannels: the calls whose channels fit the shared memory of a cluster of blocks."""

from __future__ import annotations

from tileops.kernels.norm.call_spec import BatchNormCall
from tileops.kernels.norm.channel_kernel import ChannelKernel
from tileops.kernels.norm.programs.channel_layout import (
    LARGEST_CLUSTER,
    SHORT_SLICE,
    SLICE,
    ChannelLayout,
    in_cluster,
)

__all__ = ["ClusterChannels"]

# What dealing samples out to blocks may cost the last of them, a row of eight channels.
_UNEVEN = 8 << 10


class ClusterChannels(ChannelKernel):
    """A channel, or neighbouring ones, are read once and wait in the memory of several blocks."""

    supported_archs: list[int] = [90]

    @classmethod
    def refusal(cls, call: BatchNormCall) -> str | None:
        """Refuse channels that one block holds well, and those that no cluster holds."""
        length, room = cls.streams * call.n * call.spatial, cls.room(call) - _UNEVEN
        if call.short:
            if length <= SHORT_SLICE:
                return (
                    f"serves channels of short planes with more than {SHORT_SLICE} elements, "
                    f"got {length}"
                )
            if length > room:
                return f"serves channels of short planes with at most {room} elements, got {length}"
            return super().refusal(call)
        size = length * call.itemsize
        if size <= SLICE:
            return f"serves channels that take more than {SLICE} bytes, got {size}"
        if size > LARGEST_CLUSTER * room:
            return f"serves channels that take at most {LARGEST_CLUSTER * room} bytes, got {size}"
        return super().refusal(call)

    @classmethod
    def layout(cls, call: BatchNormCall) -> ChannelLayout:
        """Stage a slice of a channel in each block."""
        layout = in_cluster(cls.planes(call), call.device_facts())
        assert layout is not None
        return layout
