"""The TileLang program that takes the statistics of channels and normalizes them, in one launch."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tileops.kernels.compile import OWN_BARRIERS, bare_function
from tileops.kernels.norm.programs.channel_blocks import channel_blocks
from tileops.kernels.norm.programs.channel_layout import ChannelLayout
from tileops.kernels.norm.programs.channel_normal import Factors, channel_normal
from tileops.kernels.norm.programs.channel_statistics import channel_statistics

if TYPE_CHECKING:
    import torch

__all__ = ["build", "program"]


def build(
    spatial: int,
    eps: float,
    momentum: float,
    dtype: "torch.dtype",
    layout: ChannelLayout,
    factors: Factors,
    arch: int,
) -> Callable[..., None]:
    """Compile for planes of *spatial* elements of a torch dtype.

    Returns:
        ``launch(anchor, x, weight, bias, running_mean, running_var, y, mean, rstd, samples,
        channels)``. All but *anchor* and the last two are addresses, 0 where *factors*
        say that there is none; *x* and *y* are multiples of 16. *anchor* is a float32 tensor of
        one element, which says on which device and stream to launch.
    """
    name = str(dtype).removeprefix("torch.")
    whole = program(spatial, eps, momentum, name, layout, factors)
    return bare_function(whole, arch, OWN_BARRIERS)


def program(spatial, eps, momentum, dtype, layout, factors):
    """Return the program for a layout; *dtype* is TileLang's name of the data's dtype."""
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
        y: T.int64,
        mean: T.int64,
        rstd: T.int64,
        samples: T.int32,
        channels: T.int32,
    ):
        with T.Kernel(B.grid(channels), threads=layout.threads, **B.cluster) as block:
            B.begin()
            s = B.place(block, samples, channels, (x,), (y,))
            B.settle_place(s)
            S.place(s)
            N.place(s, weight, bias, running_mean, running_var, mean, rstd)
            B.fetch(s)
            # Asked of memory now, it is there when the statistics are.
            if S.turns == 1 and s.warp < B.group:
                N.ask(s, s.warp)
            S.moments(s)
            S.publish_moments(s)
            B.meet()
            for turn in T.serial(S.turns):
                channel = turn * B.warps + s.warp
                if channel < B.group:
                    if S.turns > 1:
                        N.ask(s, channel)
                    S.merge(s, S.entries, S.published(s, channel))
                    if B.blocks > 1:
                        S.exchange(s, channel)
                    else:
                        N.finish(s, channel)
            if B.blocks > 1:
                S.join(s)
                for turn in T.serial(S.turns):
                    other = turn * B.warps + s.warp
                    if other < B.group:
                        if S.turns > 1:
                            N.ask(s, other)
                        S.merge(s, (1, B.blocks), S.gathered(s, other))
                        N.finish(s, other)
            B.release()
            N.settle(s)
            N.normalize(s)

    return main
