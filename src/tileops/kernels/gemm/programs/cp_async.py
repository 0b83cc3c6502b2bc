"""The TileLang program of a matrix product for every size, copied by cp.async.

Rows that are whole vectors of 16, 8 or 4 bytes are copied asynchronously, others by elements.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tileops.device import DeviceFacts
from tileops.kernels.gemm.call_spec import VECTOR
from tileops.kernels.gemm.programs.build import NO_TMA, build_all
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
) -> dict[tuple[Tile, bool], Callable[..., None]]:
    """Compile every tile for products of *n* columns over *k* on a device of these facts.

    Returns:
        ``launch(a, b, d)`` by tile and by whether it is for products whose *m* is a multiple of
        VECTOR; where *a* is stored by rows of *k* that makes no difference. The addresses of all
        tensors are multiples of 16.
    """
    name = str(dtype).removeprefix("torch.")
    units = (VECTOR, 1) if trans_a else (1,)
    programs = [program(one, unit, n, k, name, trans_a, trans_b) for one in tiles for unit in units]
    built = iter(build_all(programs, facts.arch, NO_TMA))
    by_unit = {(one, unit): next(built) for one in tiles for unit in units}
    return {
        (one, whole): by_unit[one, VECTOR if whole and trans_a else 1]
        for one in tiles
        for whole in (True, False)
    }


def program(tile, unit, n, k, dtype, trans_a, trans_b):
    """Return the program of one tile for products whose number of rows is a multiple of *unit*.

    *dtype* is TileLang's name of the operands' dtype.
    """
    import tilelang.language as T

    # TileLang sees that rows of a transposed operand are aligned when their size is a product.
    units = T.dynamic("units")
    m = units * unit
    columns = -(-n // tile.n)

    @T.prim_func
    def main(
        A: T.Tensor((k, m) if trans_a else (m, k), dtype),
        B: T.Tensor((n, k) if trans_b else (k, n), dtype),
        D: T.Tensor((m, n), dtype),
    ):
        rows = T.ceildiv(m, tile.m)
        with T.Kernel(rows * columns, threads=tile.threads) as block:
            a = T.alloc_shared((tile.k, tile.m) if trans_a else (tile.m, tile.k), dtype)
            b = T.alloc_shared((tile.n, tile.k) if trans_b else (tile.k, tile.n), dtype)
            d = T.alloc_shared((tile.m, tile.n), dtype)
            acc = T.alloc_fragment((tile.m, tile.n), "float32")
            row = T.alloc_var("int32")
            column = T.alloc_var("int32")
            row = tile_at(T, block, rows, columns)[0]
            column = tile_at(T, block, rows, columns)[1]
            T.clear(acc)
            for step in T.Pipelined(T.ceildiv(k, tile.k), num_stages=tile.stages):
                if trans_a:
                    T.copy(A[step * tile.k, row * tile.m], a)
                else:
                    T.copy(A[row * tile.m, step * tile.k], a)
                if trans_b:
                    T.copy(B[column * tile.n, step * tile.k], b)
                else:
                    T.copy(B[step * tile.k, column * tile.n], b)
                T.gemm(a, b, acc, trans_a, trans_b)
            T.copy(acc, d)
            T.copy(d, D[row * tile.m, column * tile.n])

    return main
