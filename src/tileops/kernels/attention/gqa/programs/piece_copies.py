"""How a warp brings in key tiles of its own: copies of pieces of rows, which it alone waits for."""

import math
from types import SimpleNamespace

from tileops.kernels.attention.gqa.tiling import row_stride, staged_width

__all__ = ["piece_copies"]


def piece_copies(T, form, tiling):
    """Return how tiles of every warp come into shared memory, and where they lie there.

    What blocks split is tiles, which their warps take in turn.

    Args:
        T: ``tilelang.language``.
        form: The `GQAForm`.
        tiling: The `DecodeTiling`.
    """
    N, warps, stages, D = tiling.keys, tiling.warps, tiling.stages, form.dim
    width = staged_width(D, form.itemsize)
    stride = row_stride(width, form.itemsize)
    piece = 16 if D * form.itemsize % 16 == 0 else 8
    elements = piece // form.itemsize
    pieces = D // elements
    turns = math.ceil(N * pieces / 32)
    unit = N

    def staged(w, slot, which, row, first):
        """Where the stage holds an element of a row of the warp's keys (0) or values (1)."""
        return (((w.warp * stages + slot) * 2 + which) * N + row) * stride + first

    def place(w):
        """Set up the thread's variables."""
        w.own = T.alloc_local((1,), "int32")
        w.count = T.alloc_local((1,), "int32")

    @T.macro
    def begin(w):
        """Clear what lies beyond the head in staged rows."""
        if width > D:
            # Queries are zero there too, but zero times what the memory held may be NaN.
            for at in T.serial(T.ceildiv(stages * 2 * N * (width - D), 32)):
                one = at * 32 + w.lane
                if one < stages * 2 * N * (width - D):
                    w.stage[
                        staged(
                            w,
                            one // (2 * N * (width - D)),
                            one // (N * (width - D)) % 2,
                            one // (width - D) % N,
                            D + one % (width - D),
                        )
                    ] = T.cast(0, form.dtype)
            T.sync_warp()

    def rounds(w):
        """How many tiles the warp attends to."""
        return w.count[0]

    def tile(w, i):
        """Which tile that is in round *i*."""
        return w.own[0] + i * warps

    def exists(w, i):
        """Whether the tile has keys: every one does."""
        return True

    @T.macro
    def copy(w, source, which, key, slot, row, first):
        T.ptx_cp_async(
            T.access_ptr(w.stage[staged(w, slot, which, row, first)], "w", elements),
            T.access_ptr(source[w.batch, key, w.head, first], "r", elements),
            elements,
            key < w.length,
        )

    @T.macro
    def bring(w, k, v, i):
        """Start copying the warp's tile of a round; keys past the last become zeros."""
        for turn in T.unroll(turns):
            at = turn * 32 + w.lane
            if N * pieces % 32 == 0 or at < N * pieces:
                row = at // pieces
                first = at % pieces * elements
                copy(w, k, 0, tile(w, i) * N + row, i % stages, row, first)
                copy(w, v, 1, tile(w, i) * N + row, i % stages, row, first)

    @T.macro
    def start(w, k, v, first, last):
        """Start copying the first of the warp's tiles among those from *first* to before *last*."""
        w.own[0] = first + w.warp
        w.count[0] = T.max(T.ceildiv(last - w.own[0], warps), 0)
        for ahead in T.unroll(stages - 1):
            if ahead < w.count[0]:
                bring(w, k, v, ahead)
            T.ptx_commit_group()

    @T.macro
    def advance(w, k, v, i):
        """Wait for the keys and values of round *i*, and start copying what comes after."""
        T.ptx_wait_group(stages - 2)
        T.sync_warp()
        if i + stages - 1 < w.count[0]:
            bring(w, k, v, i + stages - 1)
        T.ptx_commit_group()

    @T.macro
    def wait_for_values(w, i):
        """Wait for the values of round *i*, which have come with the keys."""

    return SimpleNamespace(**locals())
