"""ClusterChannels: the calls whose channels fit the shared memory of a cluster of blocks."""

from __future__ import annotations

from tileops.kernels.norm.call_spec import BatchNormCall
from tileops.kernels.norm.channel_kernel import ChannelKernel
from tileops.kernels.norm.programs.channel_layout import (
    ENOUGH_BLOCKS,
    LARGEST_CLUSTER,
    LEAST_BESIDE,
    LEAST_SPLIT,
    SHORT_SLICE,
    SLICE,
    ChannelLayout,
    in_cluster,
)
from tileops.kernels.norm.programs.channel_planes import ACCESS, Planes

__all__ = ["ClusterChannels"]

# What dealing samples out to blocks may cost the last of them, a row of eight channels.
_UNEVEN = 8 << 10


class ClusterChannels(ChannelKernel):
    """A channel, or neighbouring ones, are read once and wait in the memory of several blocks."""

    supported_archs: list[int] = [90]

    @classmethod
    def refusal(cls, call: BatchNormCall) -> str | None:
        """Refuse channels that one block holds well, and those that no cluster holds."""
        return cls._unfit_short(call) if cls.short(call) else cls._unfit(call)

    @classmethod
    def planes(cls, call: BatchNormCall) -> Planes:
        """Walk short planes by columns."""
        return Planes(call.n, call.c, call.spatial, call.itemsize, cls.short(call), cls.streams)

    @classmethod
    def layout(cls, call: BatchNormCall) -> ChannelLayout:
        """Stage a slice of a channel in each block."""
        layout = in_cluster(cls.planes(call), call.device_facts())
        assert layout is not None
        return layout

    @classmethod
    def beside(cls, call: BatchNormCall) -> int:
        """Return how many of many channels a block's memory must hold to hold one better."""
        return 1

    @classmethod
    def stands(cls, call: BatchNormCall) -> bool:
        """Return whether blocks go on from channel to channel."""
        return False

    @classmethod
    def _unfit(cls, call: BatchNormCall) -> str | None:
        size, room = cls.streams * call.n * call.spatial * call.itemsize, cls.room(call)
        if size <= SLICE:
            return f"serves channels that take more than {SLICE} bytes, got {size}"
        beside = cls.beside(call)
        if beside * size <= room and call.c >= ENOUGH_BLOCKS:
            return (
                f"serves fewer than {ENOUGH_BLOCKS} channels, or any number that each take more "
                f"than {room // beside} bytes, got {call.c} of {size}"
            )
        most = LARGEST_CLUSTER * (room - _UNEVEN)
        if size > most and not cls.stands(call):
            return f"serves channels that take at most {most} bytes, got {size}"
        return super().refusal(call)

    @classmethod
    def _unfit_short(cls, call: BatchNormCall) -> str | None:
        length, room = cls.streams * call.n * call.spatial, cls.room(call)
        if length <= SHORT_SLICE:
            return f"serves short planes of more than {SHORT_SLICE} elements, got {length}"
        if ACCESS * length <= room and call.c >= ACCESS // 2 * ENOUGH_BLOCKS:
            return (
                f"serves fewer than {ACCESS // 2 * ENOUGH_BLOCKS} channels of short planes, or any "
                f"number that each take more than {room} bytes at {ACCESS} an element, "
                f"got {call.c} of {ACCESS * length}"
            )
        if call.c < LEAST_BESIDE and call.n * call.spatial >= LEAST_SPLIT:
            return (
                f"serves at least {LEAST_BESIDE} channels of short planes, or any number of fewer "
                f"than {LEAST_SPLIT} elements, got {call.c} of {call.n * call.spatial}"
            )
        if length > room - _UNEVEN:
            return f"serves short planes of at most {room - _UNEVEN} elements, got {length}"
        return super().refusal(call)
