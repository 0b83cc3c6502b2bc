"""The TileLang program of a matrix product whose operands TMA brings in, for Hopper.

TileLang makes a warpgroup of its own copy; the others multiply with wgmma.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tileops.device import DeviceFacts
from tileops.kernels.gemm.programs.build import build_all
from tileops.kernels.gemm.programs.order import tile_at
from tileops.kernels.gemm.tiles import Tile

if TYPE_CHECKING:
    import torch

__all__ = ["build", "program"]


def build(
    tiles: tuple[Tile, ...],
    n: int,
    k: int,
    dtype: "torch.dtype",
    trans_a: bool,
    trans_b: bool,
    facts: DeviceFacts,
) -> dict[Tile, Callable[..., None]]:
    """Compile every tile for products of *n* columns over *k* on a device of these facts.

    Returns:
        ``launch(a, b, d)`` by tile, for tensors of any *m*. Rows of *a* and *b* as stored are
        multiples of 16 bytes, and so are the addresses of all three.
    """
    name = str(dtype).removeprefix("torch.")
    programs = [program(one, n, k, name, trans_a, trans_b, facts.sm_count) for one in tiles]
    return dict(zip(tiles, build_all(programs, facts.arch), strict=True))


def program(tile, n, k, dtype, trans_a, trans_b, multiprocessors):
    """Return the program of one tile; *dtype* is TileLang's name of the operands' dtype."""
    import tilelang.language as T

    m = T.dynamic("m")
    columns = -(-n // tile.n)
    steps = -(-k // tile.k)

    @T.macro
    def make(A, B, D, a, b, d, acc, place, rows):
        """Make the tile at a place of the order."""
        # Variables, since TileLang would divide anew in every step.
        row = T.alloc_var("int32")
        column = T.alloc_var("int32")
        row = tile_at(T, place, rows, columns)[0]
        column = tile_at(T, place, rows, columns)[1]
        T.clear(acc)
        for step in T.Pipelined(steps, num_stages=tile.stages):
            if trans_a:
                T.copy(A[step * tile.k, row * tile.m], a)
            else:
                T.copy(A[row * tile.m, step * tile.k], a)
            if trans_b:
                T.copy(B[column * tile.n, step * tile.k], b)
            else:
                T.copy(B[step * tile.k, column * tile.n], b)
            # Each warpgroup takes 64 rows and all columns.
            T.gemm(a, b, acc, trans_a, trans_b, policy=T.GemmWarpPolicy.FullRow)
        T.copy(acc, d)
        # TMA reads shared memory through another proxy than the threads that wrote it.
        T.fence_proxy_async()
        # Where rows of the result are no multiple of 16 bytes the threads themselves store.
        T.copy(d, D[row * tile.m, column * tile.n])

    @T.prim_func
    def main(
        A: T.Tensor((k, m) if trans_a else (m, k), dtype),
        B: T.Tensor((n, k) if trans_b else (k, n), dtype),
        D: T.Tensor((m, n), dtype),
    ):
        rows = T.ceildiv(m, tile.m)
        blocks = multiprocessors if tile.persistent else rows * columns
        with T.Kernel(blocks, threads=tile.threads) as block:
            a = T.alloc_shared((tile.k, tile.m) if trans_a else (tile.m, tile.k), dtype)
            b = T.alloc_shared((tile.n, tile.k) if trans_b else (tile.k, tile.n), dtype)
            d = T.alloc_shared((tile.m, tile.n), dtype)
            acc = T.alloc_fragment((tile.m, tile.n), "float32")
            if tile.persistent:
                for wave in T.serial(T.ceildiv(rows * columns, blocks)):
                    if wave * blocks + block < rows * columns:
                        make(A, B, D, a, b, d, acc, wave * blocks + block, rows)
            else:
                make(A, B, D, a, b, d, acc, block, rows)

    return main
