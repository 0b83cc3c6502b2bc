"""The TileLang program that walks a sequence, or its parts side by side, chunk by chunk."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tileops.device import DeviceFacts
from tileops.kernels.compile import bare_function
from tileops.kernels.linear_attention.programs.gate_levels import gate_levels
from tileops.kernels.linear_attention.programs.gla_tiles import chunk_tiles
from tileops.kernels.linear_attention.programs.passes import PASSES

if TYPE_CHECKING:
    import torch

__all__ = ["build", "program"]


def build(
    dim_k: int,
    dim_v: int,
    dtype: "torch.dtype",
    scale: float,
    has_initial_state: bool,
    facts: DeviceFacts,
) -> Callable[..., None]:
    """Compile for the widths of keys and values on a device of these facts.

    Returns:
        ``launch(q, k, v, g, initial, o, final, seq_len, parts, span, pieces)``. All but *final*
        are addresses, multiples of 16. *initial* holds states one after the other, every
        *pieces*-th of which a part begins with; without an initial state it is not read. Each
        part walks *span* chunks, the last one what is left of them, and writes *final*.
    """
    tiles = chunk_tiles(dim_k, dim_v, facts.arch)
    name = str(dtype).removeprefix("torch.")
    made = program(dim_k, dim_v, name, scale, has_initial_state, tiles, facts.arch)
    return bare_function(made, facts.arch, PASSES)


def program(dim_k, dim_v, dtype, scale, has_initial_state, tiles, arch):
    """Return the program for tiles; *dtype* is TileLang's name of the data's dtype."""
    import tilelang.language as T

    C, W, threads = tiles.chunk, tiles.width, tiles.threads
    f32 = "float32"
    L = gate_levels(T, dim_k, dtype, scale, tiles, arch >= 90)
    batch, heads = T.dynamic("batch"), T.dynamic("heads")
    cuts = -(-dim_v // W)
    lines = W // 8
    rows = T.GemmWarpPolicy.FullRow

    @T.macro
    def write_outputs(o, staged, at, first, value):
        for n in T.unroll(C * lines // threads):
            where = T.get_thread_binding() + n * threads
            step = where // lines
            column = where % lines * 8
            if T.And(first + step < at.seq_len, value + column < dim_v):
                for i in T.vectorized(8):
                    o[L.row(at, first + step), value + column + i] = staged[step, column + i]

    @T.prim_func
    def main(
        q_at: T.int64,
        k_at: T.int64,
        v_at: T.int64,
        g_at: T.int64,
        initial_at: T.int64,
        o_at: T.int64,
        final: T.Tensor((batch, heads, dim_k, dim_v), f32),
        seq_len: T.int32,
        parts: T.int32,
        span: T.int32,
        pieces: T.int32,
    ):
        with T.Kernel(batch * heads, cuts, parts, threads=threads) as (sequence, cut, part):
            if tiles.resident > 1:
                T.annotate_min_blocks_per_sm(tiles.resident)
            steps = T.cast(batch, "int64") * seq_len * heads
            q = T.make_tensor_from_addr(q_at, (steps, dim_k), dtype)
            k = T.make_tensor_from_addr(k_at, (steps, dim_k), dtype)
            v = T.make_tensor_from_addr(v_at, (steps, dim_v), dtype)
            g = T.make_tensor_from_addr(g_at, (steps, dim_k), dtype)
            o = T.make_tensor_from_addr(o_at, (steps, dim_v), dtype)
            states = T.cast((parts - 1) * pieces + 1, "int64") * batch * heads
            initial = T.make_tensor_from_addr(initial_at, (states, dim_k, dim_v), f32)
            mine = T.cast(part * pieces, "int64") * (batch * heads) + sequence
            at = L.place(sequence, heads, seq_len)
            L.begin(at, (part + 1) * span * C)
            s = L.tiles(W)
            L.score_tiles(s)
            # The halvings are done with when the outputs are, and their rows are set off: a warp
            # writes eight outputs of four steps each without a conflict.
            staged = s.level if dim_k >= W else T.alloc_shared((C, W + 8), dtype)
            # The state stands on its side: as the operand of the next product it is where it was
            # accumulated, in the registers of the thread.
            state = T.alloc_fragment((W, dim_k), f32)
            packed = T.alloc_fragment((W, dim_k), dtype)
            output = T.alloc_fragment((W, C), f32)

            value = cut * W
            start = part * span * C
            T.clear(state)
            if has_initial_state:
                for i, j in T.Parallel(W, dim_k):
                    if value + i < dim_v:
                        state[i, j] = initial[mine, j, value + i]
            L.clear_scores(s)
            L.fetch(s.queries, q, at, start)
            L.fetch(s.keys, k, at, start)
            L.fetch(s.logs, g, at, start)
            L.commit()
            for c in T.serial(T.max(T.min(span, T.ceildiv(seq_len, C) - part * span), 0)):
                first = start + c * C
                L.arrive_all()
                L.decay(s)
                # Until here the chunk before was still being added to the state.
                L.settle((state, packed))
                T.sync_threads()
                L.fetch_values(s, v, at, first, value, dim_v)
                L.commit()
                L.spread(s)
                L.fetch(s.queries, q, at, first + C)
                L.fetch(s.keys, k, at, first + C)
                L.fetch(s.logs, g, at, first + C)
                L.commit()
                L.score(s)
                L.arrive()
                T.copy(state, packed)
                L.multiply(
                    packed, s.reading, output, transpose_B=True, policy=rows, clear_accum=True
                )
                L.multiply(
                    s.values, s.scores, output, transpose_A=True, transpose_B=True, policy=rows
                )
                L.absorb(s, state)
                L.settle((output,), len(s.writing))
                for i, j in T.Parallel(W, C):
                    staged[j, i] = T.cast(output[i, j], dtype)
                T.sync_threads()
                write_outputs(o, staged, at, first, value)
            L.finish()
            L.settle((state, packed))
            if part == parts - 1:
                for i, j in T.Parallel(W, dim_k):
                    if value + i < dim_v:
                        final[sequence // heads, sequence % heads, j, value + i] = state[i, j]

    return main
