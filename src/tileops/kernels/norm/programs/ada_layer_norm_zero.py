"""The TileLang program of AdaLN-Zero: gated adaptive layer normalization."""

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

TENSORS = RowTensors(applied=3)


def build(n: int, eps: float, dtype: "torch.dtype", facts: DeviceFacts) -> Callable[..., None]:
    """Compile for rows of *n* elements of a torch dtype on a device of these facts.

    Returns:
        ``launch(anchor, x, scale, shift, gate, y, count)`` for any *count* of rows above zero.
        *x*, *scale*, *shift*, *gate* and *y* are addresses, multiples of 16;
        *anchor* is a tensor of one element, which says on which device and stream to launch.
    """
    return build_rows(program, TENSORS, n, eps, dtype, facts)


def program(n, eps, dtype, layout):
    """Return the program for a layout; *dtype* is TileLang's name of the rows' dtype."""
    import tilelang.language as T

    B = row_blocks(T, n, dtype, layout, TENSORS)
    S = row_statistics(T, n, B)

    @T.prim_func
    def main(
        anchor: T.Tensor((1,), dtype),
        x: T.int64,
        scale: T.int64,
        shift: T.int64,
        gate: T.int64,
        y: T.int64,
        count: T.int64,
    ):
        with T.Kernel(B.grid(count), threads=layout.threads, **B.cluster) as block:
            B.begin()
            s = B.place(block, count, (x, scale, shift, gate), (y,))
            a = T.alloc_local((B.V,), B.f32)
            b = T.alloc_local((B.V,), B.f32)
            c = T.alloc_local((B.V,), B.f32)
            B.fetch(s)
            S.moments(s, B.load)
            rstd = T.rsqrt(s.squares[0] * (1.0 / n) + eps)
            offset = s.rest[0] * rstd
            B.settle(s)
            for k in B.each():
                if B.holds(s, k):
                    B.load(s, k)
                    B.read(s, s.inputs[1], 1, k, a)
                    B.read(s, s.inputs[2], 2, k, b)
                    B.read(s, s.inputs[3], 3, k, c)
                    for i in T.unroll(B.V):
                        s.x[i] = (((s.x[i] - s.mean[0]) * rstd - offset) * a[i] + b[i]) * c[i]
                    B.write(s, s.outputs[0], k, s.x)

    return main
