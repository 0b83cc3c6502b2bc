"""WideChannels: the calls whose neighbouring channels together fit the memory of one block."""

from __future__ import annotations

from tileops.kernels.norm.call_spec import BatchNormCall
from tileops.kernels.norm.channel_kernel import ChannelKernel
from tileops.kernels.norm.programs.channel_layout import ChannelLayout, on_chip
from tileops.kernels.norm.programs.channel_planes import (
    ACCESS,
    LONGEST_COLUMN,
    SHORTEST_PLANE,
    Planes,
)

__all__ = ["WideChannels"]


class WideChannels(ChannelKernel):
    """Accesses run across the planes of neighbouring channels, which one block reads once.

    So a plane that is no whole number of accesses, such as 7 x 7, is read by whole ones.
    """

    @classmethod
    def refusal(cls, call: BatchNormCall) -> str | None:
        """Refuse planes that are accessed well by themselves, and groups that fit no block."""
        if call.spatial > LONGEST_COLUMN:
            return f"serves planes of at most {LONGEST_COLUMN} elements, got {call.spatial}"
        if not cls.short(call):
            return (
                f"serves planes below {SHORTEST_PLANE} bytes or of no whole multiple of "
                f"{cls.shortest(call)} bytes, got {call.spatial * call.itemsize}"
            )
        size, room = ACCESS * cls.streams * call.n * call.spatial, cls.room(call)
        if size > room:
            return (
                f"serves {ACCESS // call.itemsize} neighbouring channels of at most {room} bytes "
                f"together, got {size}"
            )
        return super().refusal(call)

    @classmethod
    def planes(cls, call: BatchNormCall) -> Planes:
        """Walk columns."""
        return Planes(call.n, call.c, call.spatial, call.itemsize, True, cls.streams)

    @classmethod
    def layout(cls, call: BatchNormCall) -> ChannelLayout:
        """Stage a group of channels in each block."""
        layout = on_chip(cls.planes(call), call.device_facts())
        assert layout is not None
        return layout
