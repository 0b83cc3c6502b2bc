"""The TileLang program of what a part of a sequence adds to the state and leaves of it."""

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


def build(dim_k: int, dim_v: int, dtype: "torch.dtype", facts: DeviceFacts) -> Callable[..., None]:
    """Compile for the widths of keys and values on a device of these facts.

    Returns:
        ``launch(k, v, g, states, fades, seq_len, parts, span)``. The first three are addresses,
        multiples of 16. *states* is a tensor of a state for every part: what a part adds to the
        state is written in the place of the next part, the last part's nowhere. *fades* is the
        address of a row of keys for every part but the last: the products of their gates. Every
        part but the last has *span* whole chunks.
    """
    tiles = chunk_tiles(dim_k, dim_v, facts.arch)
    made = program(dim_k, dim_v, str(dtype).removeprefix("torch."), tiles, facts.arch)
    return bare_function(made, facts.arch, PASSES)


def program(dim_k, dim_v, dtype, tiles, arch):
    """Return the program for tiles; *dtype* is TileLang's name of the data's dtype."""
    import tilelang.language as T

    C, W, threads = tiles.chunk, tiles.width, tiles.threads
    f32 = "float32"
    L = gate_levels(T, dim_k, dtype, 1.0, tiles, arch >= 90)
    batch, heads, parts = T.dynamic("batch"), T.dynamic("heads"), T.dynamic("parts")
    columns = -(-dim_k // threads)

    @T.prim_func
    def main(
        k_at: T.int64,
        v_at: T.int64,
        g_at: T.int64,
        states: T.Tensor((parts, batch, heads, dim_k, dim_v), f32),
        fades_at: T.int64,
        seq_len: T.int32,
        span: T.int32,
    ):
        with T.Kernel(batch * heads, -(-dim_v // W), parts - 1, threads=threads) as (
            sequence,
            cut,
            part,
        ):
            if tiles.summing > 1:
                T.annotate_min_blocks_per_sm(tiles.summing)
            steps = T.cast(batch, "int64") * seq_len * heads
            k = T.make_tensor_from_addr(k_at, (steps, dim_k), dtype)
            v = T.make_tensor_from_addr(v_at, (steps, dim_v), dtype)
            g = T.make_tensor_from_addr(g_at, (steps, dim_k), dtype)
            rows = T.cast(parts - 1, "int64") * batch * heads
            fades = T.make_tensor_from_addr(fades_at, (rows, dim_k), f32)
            mine = T.cast(part, "int64") * (batch * heads) + sequence
            at = L.place(sequence, heads, seq_len)
            L.begin(at, (part + 1) * span * C)
            s = L.tiles(W)
            state = T.alloc_fragment((W, dim_k), f32)
            left = T.alloc_local((columns,), f32)

            value = cut * W
            start = part * span * C
            thread = T.get_thread_binding()
            T.clear(state)
            for n in T.unroll(columns):
                left[n] = 1.0
            L.fetch(s.keys, k, at, start)
            L.fetch(s.logs, g, at, start)
            L.commit()
            L.arrive_all()
            L.decay(s)
            T.sync_threads()
            for c in T.serial(span):
                first = start + c * C
                L.fetch_values(s, v, at, first, value, dim_v)
                L.commit()
                L.gather(s)
                L.fetch(s.keys, k, at, first + C)
                L.fetch(s.logs, g, at, first + C)
                L.commit()
                L.arrive()
                for n in T.unroll(columns):
                    if thread + n * threads < dim_k:
                        left[n] *= s.totals[0, thread + n * threads]
                L.absorb(s, state)
                # The next chunk's gates are multiplied while this one is added to the state.
                L.arrive_all()
                L.decay(s)
                L.settle((state,))
                T.sync_threads()
            for i, j in T.Parallel(W, dim_k):
                if value + i < dim_v:
                    states[part + 1, sequence // heads, sequence % heads, j, value + i] = state[
                        i, j
                    ]
            if cut == 0:
                for n in T.unroll(columns):
                    if thread + n * threads < dim_k:
                        fades[mine, thread + n * threads] = left[n]

    return main
