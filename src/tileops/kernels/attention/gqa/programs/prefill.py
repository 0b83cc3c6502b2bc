"""The TileLang program of 16-bit attention for many queries, as Hopper runs it.

A block's first warpgroup brings tiles in and runs ahead through a ring of slots. Each other one
has 64 queries: while the softmax of one tile of keys is taken, the values of the tile before are
being multiplied (Shah et al., "FlashAttention-3", 2024, section 3.2).
"""

from collections.abc import Callable

from tileops.device import DeviceFacts
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.programs.query_tiles import query_tiles
from tileops.kernels.attention.gqa.tiling import PrefillTiling
from tileops.kernels.compile import bare_function

__all__ = ["PASSES", "build", "program"]

PASSES = {"tl.disable_thread_storage_sync": True, "tl.enable_fast_math": True}
"""Warps have roles: TileLang would make all of them wait for each other. Exponentials and quotients
need no more than the hardware's own accuracy."""

_WARPGROUP = 128

# Registers of a thread that copies, and of one that multiplies: all that there are, at most 240.
_FEW = 24


def _many(groups):
    return min(240, (65536 // _WARPGROUP - _FEW) // groups // 8 * 8)


def build(form: GQAForm, tiling: PrefillTiling, facts: DeviceFacts) -> Callable[..., None]:
    """Compile for calls of one form on a device of these facts.

    Returns:
        ``launch(q, k, v, o)`` for any batch and any lengths above zero.
    """
    assert facts.arch is not None
    return bare_function(program(form, tiling), facts.arch, PASSES)


def program(form, tiling):
    """Return the program for a form and a tiling."""
    import tilelang.language as T

    dtype, H, HK, D, G = form.dtype, form.heads, form.heads_kv, form.dim, form.group
    B = query_tiles(T, form, tiling, dtype)
    M, N, W, stages = B.M, B.N, B.W, tiling.stages
    groups = tiling.threads // _WARPGROUP
    rows = T.GemmWarpPolicy.FullRow
    batch, queries, keys = T.dynamic("batch"), T.dynamic("queries"), T.dynamic("keys")

    @T.macro
    def bring(tensor, b, first, head, count, tile, full, slot):
        """Bring a tile into a slot, whose barrier counts its bytes."""
        T.tma_copy(
            tensor[b, first : first + count, head, 0:W], tile[slot, :, :], barrier=full[slot]
        )
        if T.shuffle_elect(_WARPGROUP):
            T.mbarrier_arrive(full[slot])

    @T.macro
    def release(empty, slot, thread):
        """Let a slot be filled again: a lane of every warp that read it says so."""
        if thread % 32 == 0:
            T.mbarrier_arrive(empty[slot])

    @T.macro
    def score(s, q_tile, k_tile, k_full, t):
        """Start the products of a tile of keys."""
        T.mbarrier_wait_parity(k_full[t % stages], t // stages % 2)
        T.wgmma_gemm(
            q_tile[0, :, :], k_tile[t % stages, :, :], s.scores,
            transpose_B=True, policy=rows, clear_accum=True,
        )  # fmt: skip

    @T.macro
    def add(s, v_tile, v_full, t):
        """Start the sum over a tile of values."""
        T.mbarrier_wait_parity(v_full[t % stages], t // stages % 2)
        T.wgmma_gemm(s.weights, v_tile[t % stages, :, :], s.out, policy=rows)

    @T.macro
    def attend(s, q_tile, k_tile, v_tile, k_full, v_full, k_empty, v_empty, tiles, thread):
        score(s, q_tile, k_tile, k_full, 0)
        T.wait_wgmma(0)
        release(k_empty, 0, thread)
        B.weigh(s, 0, 1.0)
        B.settle(s)
        for last in T.serial(tiles - 1):
            t = last + 1
            score(s, q_tile, k_tile, k_full, t)
            add(s, v_tile, v_full, last)
            T.wait_wgmma(1)
            release(k_empty, t % stages, thread)
            B.weigh(s, t, 1.0)
            T.wait_wgmma(0)
            release(v_empty, last % stages, thread)
            B.settle(s)
        add(s, v_tile, v_full, tiles - 1)
        T.wait_wgmma(0)

    @T.prim_func
    def main(
        q: T.Tensor((batch, queries, H, D), dtype),
        k: T.Tensor((batch, keys, HK, D), dtype),
        v: T.Tensor((batch, keys, HK, D), dtype),
        o: T.Tensor((batch, queries, H, D), form.out_dtype),
    ):
        with T.Kernel(B.blocks(queries, batch), threads=tiling.threads + _WARPGROUP) as x:
            h = B.variable(B.head_of(x, queries) % H)
            b = B.variable(B.head_of(x, queries) // H)
            s = B.place(x, queries, keys)
            q_tile = T.alloc_shared((1, M, W), dtype)
            k_tile = T.alloc_shared((stages, N, W), dtype)
            v_tile = T.alloc_shared((stages, N, W), dtype)
            q_full = T.alloc_barrier([1])
            k_full = T.alloc_barrier([1] * stages)
            v_full = T.alloc_barrier([1] * stages)
            k_empty = T.alloc_barrier([groups * 4] * stages)
            v_empty = T.alloc_barrier([groups * 4] * stages)
            thread = T.get_thread_binding()
            tiles = B.variable(B.tiles(s))
            with T.ws(0):
                T.set_max_nreg(_FEW, 0)
                bring(q, b, s.first, h, M, q_tile, q_full, 0)
                for t in T.serial(tiles):
                    slot = t % stages
                    T.mbarrier_wait_parity(k_empty[slot], t // stages % 2 ^ 1)
                    bring(k, b, t * N, h // G, N, k_tile, k_full, slot)
                    T.mbarrier_wait_parity(v_empty[slot], t // stages % 2 ^ 1)
                    bring(v, b, t * N, h // G, N, v_tile, v_full, slot)
            with T.ws(*range(1, groups + 1)):
                T.set_max_nreg(_many(groups), 1)
                B.begin(s)
                T.mbarrier_wait_parity(q_full[0], 0)
                attend(s, q_tile, k_tile, v_tile, k_full, v_full, k_empty, v_empty, tiles, thread)
                B.divide(s, 1.0)
                for i, j in T.Parallel(M, W):
                    if s.first + i < queries and j < D:
                        o[b, s.first + i, h, j] = T.cast(s.out[i, j], form.out_dtype)

    return main
