"""The TileLang program of one step of gated linear attention."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tileops.device import DeviceFacts
from tileops.kernels.compile import bare_function
from tileops.kernels.linear_attention.programs.gla_tiles import DecodeTiles
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
    tiles: DecodeTiles,
    facts: DeviceFacts,
) -> Callable[..., None]:
    """Compile for the widths of keys and values, and for tiles, on a device of these facts.

    Returns:
        ``launch(q, k, v, g, initial, o, final)``. All but *final* are addresses, multiples of 16;
        without an initial state that one is not read.
    """
    name = str(dtype).removeprefix("torch.")
    made = program(dim_k, dim_v, name, scale, has_initial_state, tiles, facts.arch)
    return bare_function(made, facts.arch, PASSES)


def program(dim_k, dim_v, dtype, scale, has_initial_state, tiles, arch):
    """Return the program for tiles; *dtype* is TileLang's name of the data's dtype."""
    import tilelang.language as T

    W, threads, vectors = tiles.width, tiles.threads, tiles.vectors
    f32 = "float32"
    batch, heads = T.dynamic("batch"), T.dynamic("heads")
    line = W // 4  # Threads that share a row of the state, four values each.
    rows = threads // line
    warps = threads // 32
    early = arch >= 90  # Whether the next kernel of the stream may start before this one ends.
    offsets = [line << n for n in range((32 // line).bit_length() - 1)]

    @T.prim_func
    def main(
        q_at: T.int64,
        k_at: T.int64,
        v_at: T.int64,
        g_at: T.int64,
        initial_at: T.int64,
        o_at: T.int64,
        final: T.Tensor((batch, heads, dim_k, dim_v), f32),
    ):
        with T.Kernel(batch * heads, dim_v // W, threads=threads) as (sequence, cut):
            if early:
                T.pdl_sync()
            q = T.make_tensor_from_addr(q_at, (batch * heads, dim_k), dtype)
            k = T.make_tensor_from_addr(k_at, (batch * heads, dim_k), dtype)
            v = T.make_tensor_from_addr(v_at, (batch * heads, dim_v), dtype)
            g = T.make_tensor_from_addr(g_at, (batch * heads, dim_k), dtype)
            o = T.make_tensor_from_addr(o_at, (batch * heads, dim_v), dtype)
            initial = T.make_tensor_from_addr(initial_at, (batch * heads, dim_k, dim_v), f32)
            held = T.alloc_local((vectors, 4), f32)
            packed = T.alloc_local((4,), dtype)
            given = T.alloc_local((4,), f32)
            output = T.alloc_local((4,), f32)
            query = T.alloc_shared((dim_k,), f32)
            key = T.alloc_shared((dim_k,), f32)
            gate = T.alloc_shared((dim_k,), f32)
            partial = T.alloc_shared((warps, W), f32)
            thread = T.get_thread_binding()
            row = thread // line
            own = thread % line * 4
            value = cut * W + own
            for n in T.unroll(vectors):
                for i in T.vectorized(4):
                    held[n, i] = (
                        initial[sequence, n * rows + row, value + i] if has_initial_state else 0.0
                    )
            for i in T.vectorized(4):
                packed[i] = v[sequence, value + i]
            for n in T.unroll(-(-dim_k // threads)):
                column = n * threads + thread
                if column < dim_k:
                    query[column] = T.cast(q[sequence, column], f32) * scale
                    key[column] = T.cast(k[sequence, column], f32)
                    gate[column] = T.exp(T.cast(g[sequence, column], f32))
            for i in T.unroll(4):
                given[i] = T.cast(packed[i], f32)
                output[i] = 0.0
            T.sync_threads()
            if early:
                T.pdl_trigger()
            for n in T.unroll(vectors):
                for i in T.unroll(4):
                    held[n, i] = held[n, i] * gate[n * rows + row] + key[n * rows + row] * given[i]
                    output[i] += query[n * rows + row] * held[n, i]
                for i in T.vectorized(4):
                    final[sequence // heads, sequence % heads, n * rows + row, value + i] = held[
                        n, i
                    ]
            for offset in tuple(offsets):
                for i in tuple(range(4)):
                    output[i] += T.shfl_xor(output[i], offset)
            if thread % 32 < line:
                for i in T.vectorized(4):
                    partial[thread // 32, own + i] = output[i]
            T.sync_threads()
            if thread < line:
                for n in T.unroll(1, warps):
                    for i in T.unroll(4):
                        output[i] += partial[n, own + i]
                for i in T.unroll(4):
                    packed[i] = T.cast(output[i], dtype)
                for i in T.vectorized(4):
                    o[sequence, value + i] = packed[i]

    return main
