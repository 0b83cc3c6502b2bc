"""What the decoding programs share: one warp's attention over key tiles of its own.

A warp scores tiles, which it or its block brings in, with tensor core instructions whose sixteen
rows are query heads of one key head, and keeps maximum, sum and output of every row in registers:
what warps have summed is merged when their keys are done. Scores are in units of log2, so that the
softmax takes exp2.

The functions here build the program while TileLang traces it: a macro becomes code, and ``w``
names what `place` made for the thread. Lane ``4 * r + c`` holds rows ``r`` and ``r + 8`` of a
score or output tile, in columns ``2 * c`` and ``2 * c + 1`` (PTX ISA, "Matrix fragments for
mma.m16n8k16").
"""

import math
from types import SimpleNamespace

from tileops.kernels.attention.gqa.programs.block_boxes import block_boxes
from tileops.kernels.attention.gqa.programs.fp8_tiles import fp8_tiles
from tileops.kernels.attention.gqa.programs.half_tiles import half_tiles
from tileops.kernels.attention.gqa.programs.piece_copies import piece_copies
from tileops.kernels.attention.gqa.tiling import KEPT_WIDTH, ROWS, shared_floats, staged_width

__all__ = ["warp_tiles"]

LOG2E = math.log2(math.e)


def warp_tiles(T, form, tiling):
    """Return the building blocks of a decoding program.

    Args:
        T: ``tilelang.language``.
        form: The `GQAForm`.
        tiling: The `DecodeTiling`.
    """
    f32 = "float32"
    N, stages = tiling.keys, tiling.stages
    D, fp8 = form.dim, form.itemsize == 1
    width = staged_width(D, form.itemsize)
    compute = "float16" if fp8 else form.dtype
    steps, columns, blocks = width // 16, width // 8, N // 8
    kind = {"float16": "fp16", "bfloat16": "bf16"}[compute]
    # Queries of wider heads would leave too few registers for the output.
    held = width <= KEPT_WIDTH
    capped, cap = form.softcap > 0.0, form.softcap * LOG2E

    floats = shared_floats(min(form.group, ROWS), D, form.itemsize, tiling)

    copies = (block_boxes if tiling.boxes else piece_copies)(T, form, tiling)

    def place(batch, head, length):
        """Set up the thread's variables for the keys of one head."""
        w = SimpleNamespace(batch=batch, head=head, length=length)
        w.thread = T.get_thread_binding()
        w.lane = w.thread % 32
        w.warp = w.thread // 32
        w.row = w.lane // 4
        w.column = w.lane % 4
        # TileLang would place parts over tiles by what it takes their lifetimes to be, which leaves
        # out that other blocks write; here one memory is seen as both.
        w.floats = T.alloc_shared((floats,), f32)
        w.stage = T.view(w.floats, (floats * 4 // form.itemsize,), form.dtype)
        w.queries = T.alloc_local((steps * 8 if held else 8,), compute)
        w.kept = T.alloc_shared((1 if held else steps, 32, 8), compute)
        w.scores = T.alloc_local((blocks * 4,), f32)
        w.weights = T.alloc_local((blocks * 4,), compute)
        w.out = T.alloc_local((columns * 4,), f32)
        w.peak = T.alloc_local((2,), f32)
        w.total = T.alloc_local((2,), f32)
        w.next = T.alloc_local((2,), f32)
        w.shrink = T.alloc_local((2,), f32)
        w.part = tiles.fragment()
        copies.place(w)
        return w

    @T.macro
    def multiply(a, a_at, b, b_at, c, c_at):
        T.ptx_mma(
            f32,
            "m16n8k16",
            "row",
            "col",
            kind,
            kind,
            "fp32",
            a.data,
            a_at,
            b.data,
            b_at,
            c.data,
            c_at,
            T.bool(False),
        )

    @T.macro
    def keep(w, step):
        """Put the step's queries away that `queries` holds, where registers do not keep them."""
        if not held and w.warp == 0:
            for e in T.vectorized(8):
                w.kept[step, w.lane, e] = w.queries[e]

    @T.macro
    def fetch(w, step):
        """Get the step's queries back."""
        if not held:
            for e in T.vectorized(8):
                w.queries[e] = w.kept[step, w.lane, e]

    def at(step):
        """Where `queries` holds those of a step."""
        return step * 8 if held else 0

    context = SimpleNamespace(
        D=D,
        width=width,
        steps=steps,
        columns=columns,
        blocks=blocks,
        dtype=form.dtype,
        compute=compute,
        multiply=multiply,
        keep=keep,
        fetch=fetch,
        at=at,
        staged=copies.staged,
    )
    tiles = (fp8_tiles if fp8 else half_tiles)(T, context)

    @T.macro
    def begin(w):
        """Clear the accumulators, and what copies leave alone."""
        for i in T.unroll(columns * 4):
            w.out[i] = 0.0
        for i in T.unroll(2):
            w.peak[i] = -T.infinity(f32)
            w.total[i] = 0.0
        copies.begin(w)

    @T.macro
    def read_queries(w, q, head, count):
        """Read *count* query heads from *head* on; the rows of others are zero."""
        for step in T.unroll(steps):
            tiles.queries(w, q, head, count, step)
            keep(w, step)
        if not held:
            T.sync_threads()

    def finite(peak):
        return T.if_then_else(peak == -T.infinity(f32), T.float32(0), peak)

    @T.macro
    def weigh(w):
        """Turn scores into weights relative to the new maximum, and rescale what was summed."""
        for r in T.unroll(2):
            w.next[r] = w.peak[r]
            for i in T.unroll(blocks * 2):
                w.next[r] = T.max(w.next[r], w.scores[i // 2 * 4 + r * 2 + i % 2])
            w.next[r] = T.max(w.next[r], T.shfl_xor(w.next[r], 1))
            w.next[r] = T.max(w.next[r], T.shfl_xor(w.next[r], 2))
            # A row may have seen minus infinity only, which must not be subtracted from itself.
            w.shrink[r] = T.exp2(w.peak[r] - finite(w.next[r]))
            w.peak[r] = w.next[r]
            w.next[r] = finite(w.next[r])
            w.total[r] *= w.shrink[r]
        for i in T.unroll(blocks * 4):
            w.scores[i] = T.exp2(w.scores[i] - w.next[i // 2 % 2])
            w.weights[i] = T.cast(w.scores[i], compute)
            w.total[i // 2 % 2] += w.scores[i]
        if T.any_sync(T.Or(w.shrink[0] != 1.0, w.shrink[1] != 1.0)):
            for i in T.unroll(columns * 4):
                w.out[i] *= w.shrink[i // 2 % 2]

    @T.macro
    def attend(w, now, factor):
        """Take the tile of a round into the accumulators; *factor* turns products into scores."""
        tile = copies.tile(w, now)
        for i in T.unroll(blocks * 4):
            w.scores[i] = 0.0
        tiles.score(w, now % stages)
        for i in T.unroll(blocks * 4):
            w.scores[i] *= factor
            if capped:
                # tanh(x) = 1 - 2 / (exp(2 x) + 1); the scores arrive as x * log2(e).
                w.scores[i] = cap - 2.0 * cap / (T.exp2(2.0 * w.scores[i]) + 1.0)
        if tile * N + N > w.length:
            for i in T.unroll(blocks * 4):
                if tile * N + i // 4 * 8 + w.column * 2 + i % 2 >= w.length:
                    w.scores[i] = -T.infinity(f32)
        weigh(w)
        copies.wait_for_values(w, now)
        tiles.accumulate(w, now % stages)

    @T.macro
    def walk(w, k, v, factor):
        """Attend to the warp's tiles."""
        for i in T.serial(copies.rounds(w)):
            copies.advance(w, k, v, i)
            if copies.exists(w, i):
                attend(w, i, factor)
        for r in T.unroll(2):
            w.total[r] += T.shfl_xor(w.total[r], 1)
            w.total[r] += T.shfl_xor(w.total[r], 2)

    def element(i, column):
        """The place in a row of output *i* of a lane."""
        return tiles.element(i, column)

    return SimpleNamespace(**locals())
