"""The TileLang program of the gradients of batch normalization, in one launch."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tileops.kernels.compile import OWN_BARRIERS, bare_function
from tileops.kernels.norm.programs.channel_blocks import channel_blocks
from tileops.kernels.norm.programs.channel_layout import ChannelLayout
from tileops.kernels.norm.programs.channel_products import channel_products
from tileops.kernels.norm.programs.channel_statistics import channel_statistics
from tileops.kernels.norm.programs.standing_blocks import standing_blocks
from tileops.kernels.norm.programs.standing_layout import StandingLayout

if TYPE_CHECKING:
    import torch

__all__ = ["STREAMS", "build", "program"]

STREAMS = 2
"""Tensors that are read for the result: the output's gradient and the input."""


def build(
    spatial: int,
    dtype: "torch.dtype",
    layout: ChannelLayout | StandingLayout,
    has_weight: bool,
    arch: int,
) -> Callable[..., None]:
    """Compile for planes of *spatial* elements of a torch dtype.

    Returns:
        ``launch(anchor, dy, x, mean, rstd, weight, dx, grad_weight, grad_bias, samples,
        channels)``. All but *anchor* and the last two are addresses, of the weight 0 where there
        is none; *dy*, *x* and *dx* are multiples of 16. *anchor* is a float32 tensor of one
        element, which says on which device and stream to launch.
    """
    name = str(dtype).removeprefix("torch.")
    return bare_function(program(spatial, name, layout, has_weight), arch, OWN_BARRIERS)


def program(spatial, dtype, layout, has_weight):
    """Return the program for a layout; *dtype* is TileLang's name of the data's dtype."""
    import tilelang.language as T

    blocks = standing_blocks if isinstance(layout, StandingLayout) else channel_blocks
    B = blocks(T, spatial, dtype, layout, STREAMS)
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
        dx: T.int64,
        grad_weight: T.int64,
        grad_bias: T.int64,
        samples: T.int32,
        channels: T.int32,
    ):
        with T.Kernel(B.grid(channels), threads=layout.threads, **B.cluster) as block:
            B.begin()
            s = B.place(block, samples, channels, (dy, x), (dx,))
            B.settle_place(s)
            S.place(s)
            P.place(s, mean, rstd, weight, grad_weight, grad_bias)
            B.fetch(s)
            for number in T.serial(B.stops(s)):
                B.turn_to(s, number)
                # Asked of memory now, it is there when the statistics are.
                if S.turns == 1 and s.warp < B.group:
                    P.ask(s, s.warp)
                P.clear(s)
                P.sums(s)
                P.publish_sums(s)
                B.meet()
                for turn in T.serial(S.turns):
                    channel = turn * B.warps + s.warp
                    if channel < B.group:
                        if S.turns > 1:
                            P.ask(s, channel)
                        P.add_up(s, S.entries, S.published(s, channel))
                        if B.blocks > 1:
                            S.exchange(s, channel)
                        else:
                            P.finish(s, channel)
                if B.blocks > 1:
                    S.join(s)
                    for turn in T.serial(S.turns):
                        other = turn * B.warps + s.warp
                        if other < B.group:
                            if S.turns > 1:
                                P.ask(s, other)
                            P.add_up(s, (1, B.blocks), S.gathered(s, other))
                            P.finish(s, other)
                B.release()
                P.settle(s)
                P.differentiate(s)

    return main
