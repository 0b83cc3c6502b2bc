"""The TileLang program of a product of few rows, whose time is that of reading one operand.

The columns of the product take the rows of the tensor cores' tile, which is 64 high, and the few
rows take its columns. The sum over k is split among the blocks of a cluster, which add up each
other's parts in order, through distributed shared memory: no workspace, no second launch, and the
same bits every time.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tileops.device import DeviceFacts
from tileops.kernels.gemm.programs.build import build_all
from tileops.kernels.gemm.tiles import SkinnyTile, splits_of

if TYPE_CHECKING:
    import torch

__all__ = ["build", "program"]

# TileLang reads no other block's shared memory into registers.
_SOURCE = r"""
namespace tileops {
__device__ __forceinline__ void add_from_block(float* sum, const void* part, int block) {
  unsigned mine = static_cast<unsigned>(__cvta_generic_to_shared(part)), theirs;
  float a, b, c, d;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(mine), "r"(block));
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "r"(theirs) : "memory");
  sum[0] += a; sum[1] += b; sum[2] += c; sum[3] += d;
}
}
"""


def build(
    tiles: tuple[SkinnyTile, ...],
    n: int,
    k: int,
    dtype: "torch.dtype",
    trans_a: bool,
    trans_b: bool,
    facts: DeviceFacts,
) -> dict[SkinnyTile, Callable[..., None]]:
    """Compile every tile for products of *n* columns over *k* on a device of these facts.

    Returns:
        ``launch(a, b, d)`` by tile, for tensors of any *m*. Rows of *a*, *b* and *d* as stored are
        multiples of 16 bytes, and so are their addresses.
    """
    name = str(dtype).removeprefix("torch.")
    programs = [
        program(one, splits_of(one, n, k, facts.sm_count), n, k, name, trans_a, trans_b)
        for one in tiles
    ]
    return dict(zip(tiles, build_all(programs, facts.arch), strict=True))


def program(tile, splits, n, k, dtype, trans_a, trans_b):
    """Return the program of one tile; *dtype* is TileLang's name of the operands' dtype."""
    import tilelang.language as T

    m = T.dynamic("m")
    height, width = tile.columns, tile.rows
    steps = -(-k // (tile.k * splits))
    # A vector of four sums is what a thread adds up and rounds at a time.
    vectors = height // 4
    last = width * vectors - 1
    turns = -(-width * vectors // (tile.threads * splits))
    cluster = {"cluster_dims": (splits, 1, 1)} if splits > 1 else {}

    @T.prim_func
    def main(
        A: T.Tensor((k, m) if trans_a else (m, k), dtype),
        B: T.Tensor((n, k) if trans_b else (k, n), dtype),
        D: T.Tensor((m, n), dtype),
    ):
        with T.Kernel(
            splits, T.ceildiv(n, height), T.ceildiv(m, width), threads=tile.threads, **cluster
        ) as (split, by, bx):
            T.annotate_min_blocks_per_sm(tile.resident)
            T.disable_warp_group_reg_alloc()
            if splits > 1:
                T.import_source(_SOURCE)
            # The barriers are set up while the kernel before ends, and so are those of the next.
            T.pdl_sync()
            T.pdl_trigger()
            a = T.alloc_shared((tile.k, width) if trans_a else (width, tile.k), dtype)
            b = T.alloc_shared((height, tile.k) if trans_b else (tile.k, height), dtype)
            acc = T.alloc_fragment((height, width), "float32")
            # The padding spreads a warp's stores over the banks.
            part = T.alloc_shared((width, height + 4), "float32")
            total = T.alloc_local((turns, 4), "float32")
            packed = T.alloc_local((4,), dtype)
            T.clear(acc)
            for step in T.Pipelined(steps, num_stages=tile.stages):
                if trans_a:
                    T.copy(A[(split * steps + step) * tile.k, bx * width], a)
                else:
                    T.copy(A[bx * width, (split * steps + step) * tile.k], a)
                if trans_b:
                    T.copy(B[by * height, (split * steps + step) * tile.k], b)
                else:
                    T.copy(B[(split * steps + step) * tile.k, by * height], b)
                T.gemm(b, a, acc, not trans_b, not trans_a, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(height, width):
                part[j, i] = acc[i, j]
            if splits > 1:
                T.cluster_sync()
            else:
                T.sync_threads()
            thread = T.get_thread_binding()
            # All reads from other blocks are under way before the first sum is stored.
            for turn in T.unroll(turns):
                place = T.min((turn * splits + split) * tile.threads + thread, last)
                row = place // vectors
                column = place % vectors * 4
                if splits > 1:
                    for i in T.unroll(4):
                        total[turn, i] = 0.0
                    for other in T.unroll(splits):
                        T.call_extern(
                            "handle",
                            "tileops::add_from_block",
                            T.address_of(total[turn, 0]),
                            T.address_of(part[row, column]),
                            other,
                        )
                else:
                    for i in T.vectorized(4):
                        total[turn, i] = part[row, column + i]
            for turn in T.unroll(turns):
                place = (turn * splits + split) * tile.threads + thread
                row = place // vectors
                column = place % vectors * 4
                if place <= last and bx * width + row < m and by * height + column < n:
                    for i in T.vectorized(4):
                        packed[i] = T.cast(total[turn, i], dtype)
                    for i in T.vectorized(4):
                        D[bx * width + row, by * height + column + i] = packed[i]
            if splits > 1:
                # A block stays until nobody reads its part any more.
                T.cluster_sync()

    return main
