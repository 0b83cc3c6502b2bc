"""The TileLang program of a matrix product whose operands TMA brings in, for Hopper.

A block stays and makes one tile after another. Its first warpgroup copies, running ahead through
a ring of steps; each other one multiplies 64 rows with wgmma, one step of which stays under way
while the next is awaited, and stores them while the next tile is already being copied.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tileops.device import DeviceFacts
from tileops.kernels.gemm.programs.build import OWN_SYNC, build_all
from tileops.kernels.gemm.programs.order import tile_at
from tileops.kernels.gemm.tiles import Tile

if TYPE_CHECKING:
    import torch

__all__ = ["build", "program"]

_WARPGROUP = 128

# The barrier of the warpgroups that multiply; the block's own is number 0.
_MULTIPLIERS = 3


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
    return dict(zip(tiles, build_all(programs, facts.arch, OWN_SYNC), strict=True))


def program(tile, n, k, dtype, trans_a, trans_b, multiprocessors):
    """Return the program of one tile; *dtype* is TileLang's name of the operands' dtype."""
    import tilelang.language as T

    m = T.dynamic("m")
    stages, cluster = tile.stages, tile.cluster
    groups = tile.threads // _WARPGROUP
    threads = tile.threads + _WARPGROUP
    columns, steps = -(-n // tile.n), -(-k // tile.k)
    workers = multiprocessors // cluster
    # The blocks of a cluster make tiles one below the other, which share the second operand.
    shape = {"cluster_dims": (cluster, 1, 1)} if cluster > 1 else {}
    shared = {"cluster_mask": (1 << cluster) - 1} if cluster > 1 else {}

    @T.macro
    def copy_step(A, B, a, b, full, slot, row, column, step):
        """Bring both operands of a step into a slot, whose barrier counts their bytes."""
        if trans_a:
            T.tma_copy(
                A[step * tile.k : (step + 1) * tile.k, row : row + tile.m],
                a[slot, :, :],
                barrier=full[slot],
            )
        else:
            T.tma_copy(
                A[row : row + tile.m, step * tile.k : (step + 1) * tile.k],
                a[slot, :, :],
                barrier=full[slot],
            )
        if trans_b:
            T.tma_copy(
                B[column : column + tile.n, step * tile.k : (step + 1) * tile.k],
                b[slot, :, :],
                barrier=full[slot],
                **shared,
            )
        else:
            T.tma_copy(
                B[step * tile.k : (step + 1) * tile.k, column : column + tile.n],
                b[slot, :, :],
                barrier=full[slot],
                **shared,
            )
        if T.shuffle_elect(_WARPGROUP):
            T.mbarrier_arrive(full[slot])

    @T.macro
    def release(empty, slot, thread):
        """Let a slot be filled again, in every block that fills it for this one."""
        if thread % 32 == 0:
            if cluster > 1:
                for block in T.unroll(cluster):
                    T.mbarrier_arrive(empty[slot], block)
            else:
                T.mbarrier_arrive(empty[slot])

    @T.macro
    def multiply(a, b, acc, full, empty, first, thread):
        """Sum up a tile; *first* counts the steps of the tiles before."""
        T.clear(acc)
        for step in T.serial(steps):
            slot = (first + step) % stages
            T.mbarrier_wait_parity(full[slot], (first + step) // stages % 2)
            T.wgmma_gemm(
                a[slot, :, :],
                b[slot, :, :],
                acc,
                trans_a,
                trans_b,
                policy=T.GemmWarpPolicy.FullRow,
            )
            # All but this step are through with their slots.
            T.wait_wgmma(1)
            if step > 0:
                release(empty, (first + step - 1) % stages, thread)
        T.wait_wgmma(0)
        release(empty, (first + steps - 1) % stages, thread)

    @T.macro
    def store(acc, d, D, row, column):
        # The thread that stored the tile before waits until that is read; then all know.
        T.tma_store_wait(0)
        T.sync_threads(_MULTIPLIERS, tile.threads)
        T.copy(acc, d)
        # TMA reads shared memory through another proxy than the threads that wrote it.
        T.fence_proxy_async()
        T.sync_threads(_MULTIPLIERS, tile.threads)
        if n % 8 == 0:
            T.tma_copy(d, D[row : row + tile.m, column : column + tile.n])
        else:
            # Rows that are no multiple of 16 bytes are stored by the threads.
            T.copy(d, D[row : row + tile.m, column : column + tile.n])

    @T.prim_func
    def main(
        A: T.Tensor((k, m) if trans_a else (m, k), dtype),
        B: T.Tensor((n, k) if trans_b else (k, n), dtype),
        D: T.Tensor((m, n), dtype),
    ):
        rows = T.ceildiv(T.ceildiv(m, tile.m), cluster)
        with T.Kernel(workers * cluster, threads=threads, **shape) as block:
            a = T.alloc_shared(
                (stages, *((tile.k, tile.m) if trans_a else (tile.m, tile.k))), dtype
            )
            b = T.alloc_shared(
                (stages, *((tile.n, tile.k) if trans_b else (tile.k, tile.n))), dtype
            )
            d = T.alloc_shared((tile.m, tile.n), dtype)
            acc = T.alloc_fragment((tile.m, tile.n), "float32")
            full = T.alloc_barrier([1] * stages)
            # A lane of every warp that reads a slot releases it.
            readers = [groups * 4 * cluster] * stages
            empty = T.alloc_cluster_barrier(readers) if cluster > 1 else T.alloc_barrier(readers)
            # Variables, since TileLang would divide anew in every step.
            row = T.alloc_var("int32")
            column = T.alloc_var("int32")
            thread = T.get_thread_binding()
            rank = T.block_rank_in_cluster() if cluster > 1 else 0
            if cluster > 1:
                # TileLang launches clusters before their predecessor has ended. No block arrives
                # at barriers of another before they are set up.
                T.pdl_sync()
                T.cluster_sync()
            with T.ws(0):
                for wave in T.serial(T.ceildiv(rows * columns, workers)):
                    place = wave * workers + block // cluster
                    if place < rows * columns:
                        row = (tile_at(T, place, rows, columns)[0] * cluster + rank) * tile.m
                        column = tile_at(T, place, rows, columns)[1] * tile.n
                        for step in T.serial(steps):
                            count = wave * steps + step
                            slot = count % stages
                            T.mbarrier_wait_parity(empty[slot], count // stages % 2 ^ 1)
                            copy_step(A, B, a, b, full, slot, row, column, step)
            with T.ws(*range(1, groups + 1)):
                for wave in T.serial(T.ceildiv(rows * columns, workers)):
                    place = wave * workers + block // cluster
                    if place < rows * columns:
                        row = (tile_at(T, place, rows, columns)[0] * cluster + rank) * tile.m
                        column = tile_at(T, place, rows, columns)[1] * tile.n
                        multiply(a, b, acc, full, empty, wave * steps, thread)
                        store(acc, d, D, row, column)
                T.tma_store_wait(0)
            if cluster > 1:
                # A block stays until no other arrives at its barriers any more.
                T.cluster_sync()

    return main
