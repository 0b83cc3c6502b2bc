"""How a block brings in keys by tensor maps: one box for all of its warps, which go in step.

A thread asks for a box of keys and one of values; each has a barrier that counts its bytes. Reads
of memory come nearer to its rate than by copies of pieces, and cost the warps nothing.
"""

from types import SimpleNamespace

from tileops.kernels.attention.gqa.tiling import SWIZZLED

__all__ = ["block_boxes"]

# Of the CUDA driver's interface: CUtensorMapDataType, 128-byte swizzles, 128-byte requests to L2.
_DATA_TYPES = {"float16": 6, "bfloat16": 9}
_SWIZZLE, _PROMOTION = 3, 2

# TileLang's number of the policy by which L2 gives up first what is read once.
_EVICT_FIRST = 1


def block_boxes(T, form, tiling):
    """Return how boxes come into shared memory, and where a warp's tile lies there.

    What blocks split is boxes, each of which holds one tile for every warp.

    Args:
        T: ``tilelang.language``.
        form: The `GQAForm`, 16-bit with heads of whole swizzled parts.
        tiling: The `DecodeTiling`.
    """
    N, warps, stages, D, HK = tiling.keys, tiling.warps, tiling.stages, form.dim, form.heads_kv
    unit = N * warps

    def staged(w, slot, which, row, first):
        """Where the stage holds an element of a row of the warp's keys (0) or values (1)."""
        at = (slot * 2 + which) * (unit * D) + first // SWIZZLED * (unit * SWIZZLED)
        # The copy exchanges 16-byte pieces among eight rows, so that a column has all banks.
        piece = first % SWIZZLED // 8 ^ (row % 8)
        return at + (w.warp * N + row) * SWIZZLED + piece * 8 + first % 8

    def place(w):
        """Set up the thread's variables and the block's barriers."""
        w.first = T.alloc_local((1,), "int32")
        w.count = T.alloc_local((1,), "int32")
        w.came = T.alloc_barrier([1] * (stages * 2))

    def begin(w):
        """Rows end where heads do."""

    def descriptor(source):
        """A tensor map of keys or values: dims, their strides in bytes, the box, its strides."""
        length, batch = source.shape[1], source.shape[0]
        row, sequence = HK * D * 2, T.cast(length, "int64") * (HK * D * 2)
        return T.create_tma_descriptor(
            *(_DATA_TYPES[form.dtype], 4, source.data),
            *(D, HK, length, batch),
            *(2, D * 2, T.cast(row, "int64"), sequence),
            *(SWIZZLED, 1, unit, 1),
            *(1, 1, 1, 1),
            *(0, _SWIZZLE, _PROMOTION, 0),
        )

    def rounds(w):
        """How many tiles the warp attends to, or passes by for want of keys."""
        return w.count[0]

    def tile(w, i):
        """Which tile that is in round *i*."""
        return (w.first[0] + i) * warps + w.warp

    def exists(w, i):
        """Whether the tile has keys."""
        return tile(w, i) * N < w.length

    @T.macro
    def bring_one(w, source, which, i):
        slot = i % stages
        T.mbarrier_arrive_expect_tx(w.came[slot * 2 + which], unit * D * 2)
        for part in T.unroll(D // SWIZZLED):
            # The copies of TileLang's own want a tile to be a buffer; this memory is parts' too.
            T.evaluate(
                T.tma_load(
                    descriptor(source),
                    w.came[slot * 2 + which],
                    T.address_of(
                        w.stage[(slot * 2 + which) * (unit * D) + part * (unit * SWIZZLED)]
                    ),
                    part * SWIZZLED,
                    w.head,
                    (w.first[0] + i) * unit,
                    w.batch,
                    _EVICT_FIRST,
                )
            )

    @T.macro
    def bring(w, k, v, i):
        """Start copying the box of a round; keys past the last become zeros."""
        if w.thread == 0:
            bring_one(w, k, 0, i)
            bring_one(w, v, 1, i)

    @T.macro
    def start(w, k, v, first, last):
        """Start copying the first of the boxes from *first* to before *last*."""
        w.first[0] = first
        w.count[0] = last - first
        for ahead in T.unroll(stages - 1):
            if ahead < w.count[0]:
                bring(w, k, v, ahead)

    @T.macro
    def advance(w, k, v, i):
        """Wait for the keys of round *i*, and start copying what comes after."""
        # Every warp is done with the round before, whose place is filled next.
        T.sync_threads()
        if i + stages - 1 < w.count[0]:
            bring(w, k, v, i + stages - 1)
        T.mbarrier_wait_parity(w.came[i % stages * 2], i // stages % 2)

    @T.macro
    def wait_for_values(w, i):
        """Wait for the values of round *i*."""
        T.mbarrier_wait_parity(w.came[i % stages * 2 + 1], i // stages % 2)

    return SimpleNamespace(**locals())
