"""The TileLang program of attention for many queries with asynchronous copies by its own threads.

Values arrive while keys are scored, the next keys while values are summed. Fp8 tiles become
float16 in shared memory, which loses nothing.
"""

from collections.abc import Callable

from tileops.device import DeviceFacts
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.programs.query_tiles import query_tiles
from tileops.kernels.attention.gqa.tiling import PrefillTiling
from tileops.kernels.compile import bare_function

__all__ = ["PASSES", "build", "program"]

PASSES = {
    "tl.disable_tma_lower": True,
    "tl.disable_warp_specialized": True,
    "tl.enable_fast_math": True,
}
"""The copies are those that the program states. Exponentials and quotients need no more than the
hardware's own accuracy."""


def build(form: GQAForm, tiling: PrefillTiling, facts: DeviceFacts) -> Callable[..., None]:
    """Compile for calls of one form on a device of these facts.

    Returns:
        ``launch(q, k, v, o)``, for fp8 with the three scales after *v*, for any batch and any
        lengths above zero.
    """
    assert facts.arch is not None
    return bare_function(program(form, tiling), facts.arch, PASSES)


def program(form, tiling):
    """Return the program for a form and a tiling."""
    import tilelang.language as T

    dtype, H, HK, D, G = form.dtype, form.heads, form.heads_kv, form.dim, form.group
    scaled = form.itemsize == 1
    compute = "float16" if scaled else dtype
    B = query_tiles(T, form, tiling, compute)
    M, N, W = B.M, B.N, B.W
    rows = T.GemmWarpPolicy.FullRow
    batch, queries, keys = T.dynamic("batch"), T.dynamic("queries"), T.dynamic("keys")

    def query_tensor():
        return T.Tensor((batch, queries, H, D), dtype)

    def key_tensor():
        return T.Tensor((batch, keys, HK, D), dtype)

    def scale():
        return T.Tensor((batch, HK), "float32")

    def output():
        return T.Tensor((batch, queries, H, D), form.out_dtype)

    @T.macro
    def bring(tensor, b, first, head, rows_of, tile):
        T.async_copy(tensor[b, first : first + rows_of, head, 0:W], tile)

    @T.macro
    def ready(raw, tile):
        """Wait for what was brought in, and widen it."""
        T.ptx_wait_group(0)
        T.sync_threads()
        if scaled:
            T.copy(raw, tile)
            T.sync_threads()

    @T.macro
    def attend(q, k, v, o, x, h, b, factor, gain):
        s = B.place(x, queries, keys)
        q_raw = T.alloc_shared((M, W), dtype)
        k_raw = T.alloc_shared((N, W), dtype)
        v_raw = T.alloc_shared((N, W), dtype)
        q_tile = T.alloc_shared((M, W), compute) if scaled else q_raw
        k_tile = T.alloc_shared((N, W), compute) if scaled else k_raw
        v_tile = T.alloc_shared((N, W), compute) if scaled else v_raw
        bring(q, b, s.first, h, M, q_raw)
        bring(k, b, 0, h // G, N, k_raw)
        B.begin(s)
        ready(q_raw, q_tile)
        if scaled:
            T.copy(k_raw, k_tile)
            T.sync_threads()
        tiles = B.variable(B.tiles(s))
        for t in T.serial(tiles):
            bring(v, b, t * N, h // G, N, v_raw)
            T.clear(s.scores)
            T.gemm(q_tile, k_tile, s.scores, transpose_B=True, policy=rows)
            B.weigh(s, t, factor)
            B.settle(s)
            ready(v_raw, v_tile)
            if t + 1 < tiles:
                bring(k, b, (t + 1) * N, h // G, N, k_raw)
            T.gemm(s.weights, v_tile, s.out, policy=rows)
            ready(k_raw, k_tile)
        B.divide(s, gain)
        for i, j in T.Parallel(M, W):
            if s.first + i < queries and j < D:
                o[b, s.first + i, h, j] = T.cast(s.out[i, j], form.out_dtype)

    if scaled:

        @T.prim_func
        def main(
            q: query_tensor(), k: key_tensor(), v: key_tensor(), q_scale: scale(),
            k_scale: scale(), v_scale: scale(), o: output(),
        ):  # fmt: skip
            with T.Kernel(B.blocks(queries, batch), threads=tiling.threads) as x:
                h = B.variable(B.head_of(x, queries) % H)
                b = B.variable(B.head_of(x, queries) // H)
                factor = T.alloc_var("float32", init=q_scale[b, h // G] * k_scale[b, h // G])
                attend(q, k, v, o, x, h, b, factor, v_scale[b, h // G])

    else:

        @T.prim_func
        def main(q: query_tensor(), k: key_tensor(), v: key_tensor(), o: output()):
            with T.Kernel(B.blocks(queries, batch), threads=tiling.threads) as x:
                h = B.variable(B.head_of(x, queries) % H)
                b = B.variable(B.head_of(x, queries) // H)
                attend(q, k, v, o, x, h, b, 1.0, 1.0)

    return main
