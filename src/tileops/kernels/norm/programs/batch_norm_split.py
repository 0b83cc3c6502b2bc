"""The TileLang programs that normalize channels in parts: statistics of parts, then the rest.

The second launch starts with the parts that the first one read last, which the cache still holds.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tileops.kernels.compile import OWN_BARRIERS, bare_function
from tileops.kernels.norm.programs.channel_blocks import channel_blocks
from tileops.kernels.norm.programs.channel_layout import ChannelLayout
from tileops.kernels.norm.programs.channel_normal import Factors, channel_normal
from tileops.kernels.norm.programs.channel_statistics import channel_statistics

if TYPE_CHECKING:
    import torch

__all__ = ["build", "merging", "summing"]


def build(
    spatial: int,
    eps: float,
    momentum: float,
    dtype: "torch.dtype",
    layout: ChannelLayout,
    factors: Factors,
    arch: int,
) -> tuple[Callable[..., None], Callable[..., None]]:
    """Compile for planes of *spatial* elements of a torch dtype.

    Returns:
        ``sum_up(anchor, x, workspace, samples, channels, parts)`` and ``merge(anchor, x, weight,
        bias, running_mean, running_var, workspace, y, mean, rstd, samples, channels, parts)``, to
        be launched in this order. *workspace* is the address of ``channels * parts * 3`` float32
        values; the other addresses are those of `batch_norm_train.build`.
    """
    name = str(dtype).removeprefix("torch.")
    first = summing(spatial, name, layout)
    second = merging(spatial, eps, momentum, name, layout, factors)
    return bare_function(first, arch, OWN_BARRIERS), bare_function(second, arch, OWN_BARRIERS)


def summing(spatial, dtype, layout):
    """Return the program that takes the statistics of every part of every channel."""
    import tilelang.language as T

    B = channel_blocks(T, spatial, dtype, layout)
    S = channel_statistics(T, spatial, B)

    @T.prim_func
    def main(
        anchor: T.Tensor((1,), "float32"),
        x: T.int64,
        workspace: T.int64,
        samples: T.int32,
        channels: T.int32,
        parts: T.int32,
    ):
        with T.Kernel(B.grid(channels, parts), threads=layout.threads) as block:
            B.begin()
            where = T.alloc_local((2,), "int32")
            B.deal(where, block, parts)
            s = B.place(where[0], samples, channels, (x,), (), (where[1], parts))
            B.settle_place(s)
            S.place(s)
            partials = T.make_tensor_from_addr(workspace, (channels, parts, 3), "float32")
            S.moments(s)
            S.publish_moments(s)
            for turn in T.serial(S.turns):
                channel = turn * B.warps + s.warp
                if channel < B.group:
                    S.merge(s, S.entries, S.published(s, channel))
                    if s.thread % 32 == 0 and s.first_channel + channel < channels:
                        partials[s.first_channel + channel, s.part, 0] = s.total[0]
                        partials[s.first_channel + channel, s.part, 1] = s.ref[0] + s.rest[0]
                        partials[s.first_channel + channel, s.part, 2] = s.square[0]
            B.release()

    return main


def merging(spatial, eps, momentum, dtype, layout, factors):
    """Return the program that merges the parts of every channel and normalizes its own."""
    import tilelang.language as T

    B = channel_blocks(T, spatial, dtype, layout)
    S = channel_statistics(T, spatial, B)
    N = channel_normal(T, B, S, eps, momentum, factors)

    @T.prim_func
    def main(
        anchor: T.Tensor((1,), "float32"),
        x: T.int64,
        weight: T.int64,
        bias: T.int64,
        running_mean: T.int64,
        running_var: T.int64,
        workspace: T.int64,
        y: T.int64,
        mean: T.int64,
        rstd: T.int64,
        samples: T.int32,
        channels: T.int32,
        parts: T.int32,
    ):
        with T.Kernel(B.grid(channels, parts), threads=layout.threads) as block:
            B.begin()
            where = T.alloc_local((2,), "int32")
            B.deal(where, B.grid(channels, parts) - 1 - block, parts)
            s = B.place(where[0], samples, channels, (x,), (y,), (where[1], parts))
            B.settle_place(s)
            S.place(s)
            N.place(s, weight, bias, running_mean, running_var, mean, rstd)
            partials = T.make_tensor_from_addr(workspace, (channels, parts, 3), "float32")
            for turn in T.serial(S.turns):
                channel = turn * B.warps + s.warp
                if channel < B.group:
                    N.ask(s, channel)
                    S.merge(s, (1, parts), S.recorded(s, partials, channel))
                    N.finish(s, channel)
            B.release()
            N.settle(s)
            N.normalize(s)

    return main
