"""The TileLang program of a matrix product whose operands TMA brings in, for Hopper.

A block stays and makes one tile after another. Its first warpgroup copies, running ahead through
a ring of steps. Each other one makes its rows of the tile on its own: it multiplies with wgmma,
one step of which stays under way while the next is awaited, and stores its rows while the others
multiply.
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

# The barrier of the first warpgroup that multiplies; the block's own is number 0.
_OWN_BARRIER = 3


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
    threads, height = tile.threads + _WARPGROUP, tile.m // groups
    width = tile.n // tile.parts
    columns, steps = -(-n // tile.n), -(-k // tile.k)
    workers = multiprocessors // cluster
    first_shape = (tile.k, height) if trans_a else (height, tile.k)
    second_shape = (tile.n, tile.k) if trans_b else (tile.k, tile.n)
    # The blocks of a cluster make tiles one below the other, which share the second operand.
    shape = {"cluster_dims": (cluster, 1, 1)} if cluster > 1 else {}
    shared = {"cluster_mask": (1 << cluster) - 1} if cluster > 1 else {}

    @T.macro
    def copy_step(A, B, a, b, full, slot, row, column, step):
        """Bring both operands of a step into a slot, whose barrier counts their bytes."""
        for group in tuple(range(groups)):
            if trans_a:
                T.tma_copy(
                    A[
                        step * tile.k : (step + 1) * tile.k,
                        row + group * height : row + (group + 1) * height,
                    ],
                    a[slot, group, :, :],
                    barrier=full[slot],
                )
            else:
                T.tma_copy(
                    A[
                        row + group * height : row + (group + 1) * height,
                        step * tile.k : (step + 1) * tile.k,
                    ],
                    a[slot, group, :, :],
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
    def multiply(a, b, acc, full, empty, group, first, thread):
        """Sum up the rows of a warpgroup; *first* counts the steps of the tiles before."""
        T.clear(acc)
        for step in T.serial(steps):
            slot = (first + step) % stages
            T.mbarrier_wait_parity(full[slot], (first + step) // stages % 2)
            T.wgmma_gemm(a[slot, group, :, :], b[slot, :, :], acc, trans_a, trans_b)
            # All but this step are through with their slots.
            T.wait_wgmma(1)
            if step > 0:
                release(empty, (first + step - 1) % stages, thread)
        T.wait_wgmma(0)
        release(empty, (first + steps - 1) % stages, thread)

    @T.macro
    def store(acc, d, D, group, row, column):
        for part in tuple(range(tile.parts)):
            # The thread that stored the part before waits until that is read; then all know.
            T.tma_store_wait(0)
            T.sync_threads(_OWN_BARRIER + group, _WARPGROUP)
            T.copy(acc[:, part * width : (part + 1) * width], d)
            # TMA reads shared memory through another proxy than the threads that wrote it.
            T.fence_proxy_async()
            T.sync_threads(_OWN_BARRIER + group, _WARPGROUP)
            first = column + part * width
            if n % 8 == 0:
                T.tma_copy(d, D[row : row + height, first : first + width])
            else:
                # Rows that are no multiple of 16 bytes are stored by the threads, one a column: a
                # copy of a width that is no power of two would hold an address for every element.
                for turn in tuple(range(-(-width // _WARPGROUP))):
                    own = turn * _WARPGROUP + T.get_thread_binding() % _WARPGROUP
                    if own < width and first + own < n:
                        for line in T.unroll(height, unroll_factor=8):
                            if row + line < m:
                                D[row + line, first + own] = d[line, own]

    @T.prim_func
    def main(
        A: T.Tensor((k, m) if trans_a else (m, k), dtype),
        B: T.Tensor((n, k) if trans_b else (k, n), dtype),
        D: T.Tensor((m, n), dtype),
    ):
        rows = T.ceildiv(T.ceildiv(m, tile.m), cluster)
        with T.Kernel(workers * cluster, threads=threads, **shape) as block:
            a = T.alloc_shared((stages, groups, *first_shape), dtype)
            b = T.alloc_shared((stages, *second_shape), dtype)
            full = T.alloc_barrier([1] * stages)
            # A lane of every warp that reads a slot releases it.
            readers = [groups * 4 * cluster] * stages
            empty = T.alloc_cluster_barrier(readers) if cluster > 1 else T.alloc_barrier(readers)
            # Variables, since TileLang would divide anew in every step.
            row = T.alloc_var("int32")
            column = T.alloc_var("int32")
            thread = T.get_thread_binding()
            rank = T.block_rank_in_cluster() if cluster > 1 else 0
            # The barriers are set up while the kernel before ends, and so are those of the next.
            T.pdl_sync()
            T.pdl_trigger()
            if cluster > 1:
                # No block arrives at barriers of another before they are set up.
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
            for group in tuple(range(groups)):
                with T.ws(1 + group):
                    acc = T.alloc_fragment((height, tile.n), "float32")
                    d = T.alloc_shared((height, width), dtype)
                    for wave in T.serial(T.ceildiv(rows * columns, workers)):
                        place = wave * workers + block // cluster
                        if place < rows * columns:
                            row = (tile_at(T, place, rows, columns)[0] * cluster + rank) * tile.m
                            column = tile_at(T, place, rows, columns)[1] * tile.n
                            multiply(a, b, acc, full, empty, group, wave * steps, thread)
                            store(acc, d, D, group, row + group * height, column)
                    T.tma_store_wait(0)
            if cluster > 1:
                # A block stays until no other arrives at its barriers any more.
                T.cluster_sync()

    return main
