"""The TileLang program of 16-bit attention for many queries, as Hopper runs it.

A warpgroup brings tiles in with the tensor memory accelerator while the others multiply.
"""

from collections.abc import Callable

from tileops.device import DeviceFacts
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.programs.query_tiles import query_tiles
from tileops.kernels.attention.gqa.tiling import PrefillTiling
from tileops.kernels.compile import bare_function

__all__ = ["build", "program"]


def build(form: GQAForm, tiling: PrefillTiling, facts: DeviceFacts) -> Callable[..., None]:
    """Compile for calls of one form on a device of these facts.

    Returns:
        ``launch(q, k, v, o)`` for any batch and any lengths above zero.
    """
    assert facts.arch is not None
    return bare_function(program(form, tiling), facts.arch)


def program(form, tiling):
    """Return the program for a form and a tiling."""
    import tilelang.language as T

    dtype, H, HK, D, G = form.dtype, form.heads, form.heads_kv, form.dim, form.group
    B = query_tiles(T, form, tiling, dtype)
    M, N, W = B.M, B.N, B.W
    rows = T.GemmWarpPolicy.FullRow
    batch, queries, keys = T.dynamic("batch"), T.dynamic("queries"), T.dynamic("keys")

    @T.prim_func
    def main(
        q: T.Tensor((batch, queries, H, D), dtype),
        k: T.Tensor((batch, keys, HK, D), dtype),
        v: T.Tensor((batch, keys, HK, D), dtype),
        o: T.Tensor((batch, queries, H, D), form.out_dtype),
    ):
        with T.Kernel(B.blocks(queries, batch), threads=tiling.threads) as x:
            h = B.variable(B.head_of(x, queries) % H)
            b = B.variable(B.head_of(x, queries) // H)
            s = B.place(x, queries, keys)
            q_tile = T.alloc_shared((M, W), dtype)
            k_tile = T.alloc_shared((N, W), dtype)
            v_tile = T.alloc_shared((N, W), dtype)
            o_tile = T.alloc_shared((M, W), form.out_dtype)
            T.copy(q[b, s.first : s.first + M, h, 0:W], q_tile)
            B.begin(s)
            tiles = B.variable(B.tiles(s))
            for t in T.Pipelined(tiles, num_stages=tiling.stages):
                T.copy(k[b, t * N : t * N + N, h // G, 0:W], k_tile)
                T.clear(s.scores)
                T.gemm(q_tile, k_tile, s.scores, transpose_B=True, policy=rows)
                B.weigh(s, t, 1.0)
                T.copy(v[b, t * N : t * N + N, h // G, 0:W], v_tile)
                T.gemm(s.weights, v_tile, s.out, policy=rows)
            B.divide(s, 1.0)
            T.copy(s.out, o_tile)
            T.copy(o_tile, o[b, s.first : s.first + M, h, 0:W])

    return main
