"""The TileLang programs of a product of very few rows, without tensor cores.

A block reads its part of the second operand once, by accesses of 16 bytes that lie side by side in
memory, many of which are under way before the first is used. Its threads share the sum over k, and
their parts are added in one order.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tileops.device import DeviceFacts
from tileops.kernels.compile import OWN_BARRIERS
from tileops.kernels.gemm.call_spec import VECTOR
from tileops.kernels.gemm.programs.build import build_all
from tileops.kernels.gemm.tiles import columns_layout, rows_layout

if TYPE_CHECKING:
    import torch

__all__ = ["build", "columns_program", "rows_program"]


def build(
    heights: tuple[int, ...],
    n: int,
    k: int,
    dtype: "torch.dtype",
    trans_b: bool,
    facts: DeviceFacts,
) -> dict[int, Callable[..., None]]:
    """Compile a program per height for products of *n* columns over *k* on such a device.

    Returns:
        ``launch(a, b, d, m)`` by height, for any *m* up to it. *a* and *d* are addresses of
        contiguous (m, k) and (m, n), *b* is a tensor; the addresses are multiples of 16.
    """
    name = str(dtype).removeprefix("torch.")
    programs = []
    for one in heights:
        if trans_b:
            programs.append(rows_program(rows_layout(one), one, n, k, name, facts.arch))
        else:
            layout = columns_layout(n, one)
            programs.append(columns_program(layout, one, n, k, name, facts.arch))
    return dict(zip(heights, build_all(programs, facts.arch, OWN_BARRIERS), strict=True))


def rows_program(layout, height, n, k, dtype, arch):
    """Return the program for a second operand stored as (n, k) and up to *height* rows."""
    import tilelang.language as T

    columns, threads, batch, f32 = layout.columns, layout.threads, layout.batch, "float32"
    vectors = k // VECTOR
    turns = -(-vectors // (threads * batch))

    @T.prim_func
    def main(a: T.int64, B: T.Tensor((n, k), dtype), d: T.int64, m: T.int32):
        with T.Kernel(T.ceildiv(n, columns), threads=threads) as block:
            if arch >= 90:
                # Blocks come in while those of the kernel before end.
                T.pdl_sync()
                T.pdl_trigger()
            A = T.make_tensor_from_addr(a, (m, k), dtype)
            D = T.make_tensor_from_addr(d, (m, n), dtype)
            thread = T.get_thread_binding()
            held = T.alloc_local((batch, columns * VECTOR), dtype)
            x = T.alloc_local((VECTOR,), dtype)
            acc = T.alloc_local((height, columns), f32)
            part = T.alloc_shared((threads // 32, height * columns), f32)
            total = T.alloc_local((1,), f32)
            for row in T.unroll(height):
                for column in T.unroll(columns):
                    acc[row, column] = 0.0
            for turn in T.serial(turns):
                for step in T.unroll(batch):
                    if (turn * batch + step) * threads + thread < vectors:
                        for column in T.unroll(columns):
                            # Columns past the last read it again.
                            for i in T.vectorized(VECTOR):
                                held[step, column * VECTOR + i] = B[
                                    T.min(block * columns + column, n - 1),
                                    ((turn * batch + step) * threads + thread) * VECTOR + i,
                                ]
                for step in T.unroll(batch):
                    if (turn * batch + step) * threads + thread < vectors:
                        for row in T.unroll(height):
                            for i in T.vectorized(VECTOR):
                                x[i] = A[
                                    T.min(row, m - 1),
                                    ((turn * batch + step) * threads + thread) * VECTOR + i,
                                ]
                            for column in T.unroll(columns):
                                for i in T.unroll(VECTOR):
                                    acc[row, column] += T.cast(x[i], f32) * T.cast(
                                        held[step, column * VECTOR + i], f32
                                    )
            for row in T.unroll(height):
                for column in T.unroll(columns):
                    for swap in T.unroll(5):
                        acc[row, column] += T.shfl_xor(acc[row, column], 1 << swap)
                    if thread % 32 == 0:
                        part[thread // 32, row * columns + column] = acc[row, column]
            T.sync_threads()
            if thread < height * columns:
                row = thread // columns
                column = block * columns + thread % columns
                total[0] = 0.0
                for warp in T.unroll(threads // 32):
                    total[0] += part[warp, thread]
                if row < m and column < n:
                    D[row, column] = T.cast(total[0], dtype)

    return main


def columns_program(layout, height, n, k, dtype, arch):
    """Return the program for a second operand stored as (k, n) and up to *height* rows."""
    import tilelang.language as T

    columns, threads, batch, f32 = layout.columns, layout.threads, layout.batch, "float32"
    lanes = columns // VECTOR
    groups = threads // lanes
    turns = -(-k // (groups * batch))
    swaps = (32 // lanes).bit_length() - 1

    @T.prim_func
    def main(a: T.int64, B: T.Tensor((k, n), dtype), d: T.int64, m: T.int32):
        with T.Kernel(T.ceildiv(n, columns), threads=threads) as block:
            if arch >= 90:
                # Blocks come in while those of the kernel before end.
                T.pdl_sync()
                T.pdl_trigger()
            A = T.make_tensor_from_addr(a, (m, k), dtype)
            D = T.make_tensor_from_addr(d, (m, n), dtype)
            thread = T.get_thread_binding()
            first = block * columns + thread % lanes * VECTOR
            group = thread // lanes
            held = T.alloc_local((batch, VECTOR), dtype)
            x = T.alloc_local((1,), f32)
            acc = T.alloc_local((height, VECTOR), f32)
            part = T.alloc_shared((threads // 32, height, columns), f32)
            total = T.alloc_local((1,), f32)
            for row in T.unroll(height):
                for i in T.unroll(VECTOR):
                    acc[row, i] = 0.0
            for turn in T.serial(turns):
                for step in T.unroll(batch):
                    if (turn * batch + step) * groups + group < k and first < n:
                        for i in T.vectorized(VECTOR):
                            held[step, i] = B[
                                (turn * batch + step) * groups + group,
                                block * columns + thread % lanes * VECTOR + i,
                            ]
                for step in T.unroll(batch):
                    if (turn * batch + step) * groups + group < k and first < n:
                        for row in T.unroll(height):
                            x[0] = T.cast(
                                A[T.min(row, m - 1), (turn * batch + step) * groups + group], f32
                            )
                            for i in T.unroll(VECTOR):
                                acc[row, i] += x[0] * T.cast(held[step, i], f32)
            for row in T.unroll(height):
                for i in T.unroll(VECTOR):
                    for swap in T.unroll(swaps):
                        acc[row, i] += T.shfl_xor(acc[row, i], lanes << swap)
                    if thread % 32 < lanes:
                        part[thread // 32, row, thread % lanes * VECTOR + i] = acc[row, i]
            T.sync_threads()
            if thread < height * columns:
                row = thread // columns
                column = thread % columns
                total[0] = 0.0
                for warp in T.unroll(threads // 32):
                    total[0] += part[warp, row, column]
                if row < m and block * columns + column < n:
                    D[row, block * columns + column] = T.cast(total[0], dtype)

    return main
