"""The TileLang program that normalizes every plane of every sample: rows with a factor each."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tileops.kernels.compile import OWN_BARRIERS, bare_function
from tileops.kernels.norm.programs.row_blocks import row_blocks
from tileops.kernels.norm.programs.row_layout import RowLayout, RowTensors
from tileops.kernels.norm.programs.row_statistics import row_statistics

if TYPE_CHECKING:
    import torch

__all__ = ["TENSORS", "build", "program"]

TENSORS = RowTensors()


def build(
    spatial: int,
    eps: float,
    dtype: "torch.dtype",
    layout: RowLayout,
    has_weight: bool,
    has_bias: bool,
    keeps: bool,
    arch: int,
) -> Callable[..., None]:
    """Compile for planes of *spatial* elements of a torch dtype.

    Returns:
        ``launch(anchor, x, weight, bias, y, mean, var, planes, channels)``. All but *anchor* and
        the last two are addresses, 0 where there is no such tensor; *x* and *y* are multiples of
        16. *mean* and *var* take the float32 mean and unbiased variance of every plane, if it
        *keeps* them. *anchor* is a float32 tensor of one element, which says on which device and
        stream to launch. Plane k takes element ``k % channels`` of weight and bias.
    """
    name = str(dtype).removeprefix("torch.")
    whole = program(spatial, eps, name, layout, has_weight, has_bias, keeps)
    return bare_function(whole, arch, OWN_BARRIERS)


def program(spatial, eps, dtype, layout, has_weight, has_bias, keeps):
    """Return the program for a layout; *dtype* is TileLang's name of the data's dtype."""
    import tilelang.language as T

    B = row_blocks(T, spatial, dtype, layout, TENSORS)
    S = row_statistics(T, spatial, B)

    @T.prim_func
    def main(
        anchor: T.Tensor((1,), "float32"),
        x: T.int64,
        weight: T.int64,
        bias: T.int64,
        y: T.int64,
        mean: T.int64,
        var: T.int64,
        planes: T.int64,
        channels: T.int32,
    ):
        with T.Kernel(B.grid(planes), threads=layout.threads, **B.cluster) as block:
            B.begin()
            s = B.place(block, planes, (x,), (y,))
            scales = T.make_tensor_from_addr(weight, (channels,), dtype)
            shifts = T.make_tensor_from_addr(bias, (channels,), dtype)
            means = T.make_tensor_from_addr(mean, (planes,), B.f32)
            variances = T.make_tensor_from_addr(var, (planes,), B.f32)
            factor = T.alloc_local((2,), B.f32)
            channel = T.alloc_local((1,), "int32")
            B.fetch(s)
            channel[0] = T.cast(T.truncmod(s.source, channels), "int32")
            factor[0] = T.cast(scales[channel[0]], B.f32) if has_weight else T.float32(1)
            factor[1] = T.cast(shifts[channel[0]], B.f32) if has_bias else T.float32(0)
            S.moments(s, B.load)
            if keeps and s.lane == 0 and s.row < planes:
                means[s.row] = s.mean[0] + s.rest[0]
                # A plane of one element has no unbiased variance, and no op asks for it.
                variances[s.row] = s.squares[0] * (1.0 / max(spatial - 1, 1))
            rstd = T.rsqrt(s.squares[0] * (1.0 / spatial) + eps)
            offset = s.rest[0] * rstd
            B.settle(s)
            for k in B.each():
                if B.holds(s, k):
                    B.load(s, k)
                    for i in T.unroll(B.V):
                        s.x[i] = ((s.x[i] - s.mean[0]) * rstd - offset) * factor[0] + factor[1]
                    B.write(s, s.outputs[0], k, s.x)

    return main
