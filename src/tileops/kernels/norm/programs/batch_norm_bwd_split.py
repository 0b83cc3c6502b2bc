"""The TileLang programs of the gradients of batch normalization in parts: sums, then the rest.

The second launch starts with the parts that the first one read last, which the cache still holds.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tileops.kernels.compile import OWN_BARRIERS, bare_function
from tileops.kernels.norm.programs.batch_norm_bwd import STREAMS
from tileops.kernels.norm.programs.channel_blocks import channel_blocks
from tileops.kernels.norm.programs.channel_layout import ChannelLayout
from tileops.kernels.norm.programs.channel_products import channel_products
from tileops.kernels.norm.programs.channel_statistics import channel_statistics

if TYPE_CHECKING:
    import torch

__all__ = ["build", "merging", "summing"]


def build(
    spatial: int, dtype: "torch.dtype", layout: ChannelLayout, has_weight: bool, arch: int
) -> tuple[Callable[..., None], Callable[..., None]]:
    """Compile for planes of *spatial* elements of a torch dtype.

    Returns:
        ``sum_up(anchor, dy, x, mean, workspace, samples, channels, parts)`` and ``merge(anchor,
        dy, x, mean, rstd, weight, workspace, dx, grad_weight, grad_bias, samples, channels,
        parts)``, to be launched in this order. *workspace* is the address of
        ``channels * parts * 3`` float32 values; the other addresses are those of
        `batch_norm_bwd.build`.
    """
    name = str(dtype).removeprefix("torch.")
    first = summing(spatial, name, layout)
    second = merging(spatial, name, layout, has_weight)
    return bare_function(first, arch, OWN_BARRIERS), bare_function(second, arch, OWN_BARRIERS)


def summing(spatial, dtype, layout):
    """Return the program that takes the sums of every part of every channel."""
    import tilelang.language as T

    B = channel_blocks(T, spatial, dtype, layout, STREAMS)
    S = channel_statistics(T, spatial, B)
    P = channel_products(T, spatial, B, S, False)

    @T.prim_func
    def main(
        anchor: T.Tensor((1,), "float32"),
        dy: T.int64,
        x: T.int64,
        mean: T.int64,
        workspace: T.int64,
        samples: T.int32,
        channels: T.int32,
        parts: T.int32,
    ):
        with T.Kernel(B.grid(channels, parts), threads=layout.threads) as block:
            B.begin()
            where = T.alloc_local((2,), "int32")
            B.deal(where, block, parts)
            s = B.place(where[0], samples, channels, (dy, x), (), (where[1], parts))
            B.settle_place(s)
            S.place(s)
            P.place(s, mean, mean, mean, mean, mean)
            partials = T.make_tensor_from_addr(workspace, (channels, parts, 3), "float32")
            P.clear(s)
            P.sums(s)
            P.publish_sums(s)
            for turn in T.serial(S.turns):
                channel = turn * B.warps + s.warp
                if channel < B.group:
                    P.add_up(s, S.entries, S.published(s, channel))
                    if s.thread % 32 == 0 and s.first_channel + channel < channels:
                        partials[s.first_channel + channel, s.part, 1] = s.ref[0]
                        partials[s.first_channel + channel, s.part, 2] = s.square[0]
            B.release()

    return main


def merging(spatial, dtype, layout, has_weight):
    """Return the program that adds the sums of every channel and differentiates its own part."""
    import tilelang.language as T

    B = channel_blocks(T, spatial, dtype, layout, STREAMS)
    S = channel_statistics(T, spatial, B)
    P = channel_products(T, spatial, B, S, has_weight)

    @T.prim_func
    def main(
        anchor: T.Tensor((1,), "float32"),
        dy: T.int64,
        x: T.int64,
        mean: T.int64,
        rstd: T.int64,
        weight: T.int64,
        workspace: T.int64,
        dx: T.int64,
        grad_weight: T.int64,
        grad_bias: T.int64,
        samples: T.int32,
        channels: T.int32,
        parts: T.int32,
    ):
        with T.Kernel(B.grid(channels, parts), threads=layout.threads) as block:
            B.begin()
            where = T.alloc_local((2,), "int32")
            B.deal(where, B.grid(channels, parts) - 1 - block, parts)
            s = B.place(where[0], samples, channels, (dy, x), (dx,), (where[1], parts))
            B.settle_place(s)
            S.place(s)
            P.place(s, mean, rstd, weight, grad_weight, grad_bias)
            partials = T.make_tensor_from_addr(workspace, (channels, parts, 3), "float32")
            P.clear(s)
            for turn in T.serial(S.turns):
                channel = turn * B.warps + s.warp
                if channel < B.group:
                    P.ask(s, channel)
                    P.add_up(s, (1, parts), S.recorded(s, partials, channel))
                    P.finish(s, channel)
            B.release()
            P.settle(s)
            P.differentiate(s)

    return main
