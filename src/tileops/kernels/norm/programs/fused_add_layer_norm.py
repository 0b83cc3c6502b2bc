"""The TileLang program of layer normalization of a sum."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tileops.device import DeviceFacts
from tileops.kernels.norm.programs.build import build_rows
from tileops.kernels.norm.programs.row_blocks import row_blocks
from tileops.kernels.norm.programs.row_layout import RowTensors
from tileops.kernels.norm.programs.row_statistics import row_statistics

if TYPE_CHECKING:
    import torch

__all__ = ["TENSORS", "build", "program"]

TENSORS = RowTensors(summed=2, factors=2)


def build(n: int, eps: float, dtype: "torch.dtype", facts: DeviceFacts) -> Callable[..., None]:
    """Compile for rows of *n* elements of a torch dtype on a device of these facts.

    Returns:
        ``launch(x, residual, weight, bias, y, total, count)`` for any *count* of rows above zero.
        *x*, *residual*, *y* and *total* are addresses, multiples of 16;
        *weight* and *bias* are tensors of *n* elements.
    """
    return build_rows(program, TENSORS, n, eps, dtype, facts)


def program(n, eps, dtype, layout):
    """Return the program for a layout; *dtype* is TileLang's name of the rows' dtype."""
    import tilelang.language as T

    B = row_blocks(T, n, dtype, layout, TENSORS)
    S = row_statistics(T, n, B)

    @T.prim_func
    def main(
        x: T.int64,
        residual: T.int64,
        weight: T.Tensor((n,), dtype),
        bias: T.Tensor((n,), dtype),
        y: T.int64,
        total: T.int64,
        count: T.int64,
    ):
        with T.Kernel(B.grid(count), threads=layout.threads, **B.cluster) as block:
            B.begin()
            s = B.place(block, count, (x, residual), (y, total), (weight, bias))
            scale = T.alloc_local((B.V,), B.f32)
            shift = T.alloc_local((B.V,), B.f32)
            B.fetch(s)
            S.moments(s, B.load_sum)
            rstd = T.rsqrt(s.squares[0] * (1.0 / n) + eps)
            offset = s.rest[0] * rstd
            B.settle(s)
            for k in B.each():
                if B.holds(s, k):
                    B.factor(s, 0, k, scale)
                    B.factor(s, 1, k, shift)
                    B.read(s, s.outputs[1], 0, k, s.x)
                    for i in T.unroll(B.V):
                        s.x[i] = ((s.x[i] - s.mean[0]) * rstd - offset) * scale[i] + shift[i]
                    B.write(s, s.outputs[0], k, s.x)

    return main
