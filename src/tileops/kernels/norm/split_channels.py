"""SplitChannels: the calls whose few long channels are cut into parts."""

from __future__ import annotations

import torch

from tileops.device import current_facts
from tileops.kernels.norm.call_spec import BatchNormCall
from tileops.kernels.norm.channel_kernel import ChannelKernel
from tileops.kernels.norm.programs.channel_layout import (
    LEAST_SPLIT,
    MOST_SPLIT_CHANNELS,
    ChannelLayout,
    parts,
    passing,
)
from tileops.kernels.norm.programs.channel_planes import Planes, side_by_side

__all__ = ["SplitChannels"]


class SplitChannels(ChannelKernel):
    """Parts of channels are summed up in one launch, merged and read again in another.

    So a few channels keep every multiprocessor busy.
    """

    @classmethod
    def refusal(cls, call: BatchNormCall) -> str | None:
        """Refuse short channels, and so many that each may have a block of its own."""
        length = call.n * call.spatial
        if length < LEAST_SPLIT:
            return f"serves channels of at least {LEAST_SPLIT} elements, got {length}"
        if call.c > MOST_SPLIT_CHANNELS:
            return f"serves at most {MOST_SPLIT_CHANNELS} channels, got {call.c}"
        return super().refusal(call)

    @classmethod
    def layout(cls, call: BatchNormCall) -> ChannelLayout:
        """Let every part pass."""
        return passing(cls.planes(call), call.device_facts())

    @classmethod
    def counts(
        cls, layout: ChannelLayout, x: torch.Tensor, workspace: torch.Tensor
    ) -> tuple[int, int, int]:
        """Return the samples, channels and parts of each channel of a call."""
        samples, channels = x.shape[:2]
        spatial = x[:1, :1].numel()
        by_columns = side_by_side(spatial, x.itemsize)
        planes = Planes(samples, channels, spatial, x.itemsize, by_columns, cls.streams)
        most = workspace.numel() // (3 * channels)
        return samples, channels, parts(planes, layout, current_facts(), most)
