"""The TileLang program that decodes: keys split over blocks or clusters, merged in one launch."""

from collections.abc import Callable

from tileops.device import DeviceFacts
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.programs.fp8_tiles import WIDEN
from tileops.kernels.attention.gqa.programs.merge import SEND, merge
from tileops.kernels.attention.gqa.programs.warp_tiles import LOG2E, warp_tiles
from tileops.kernels.attention.gqa.tiling import ROWS, DecodeTiling, head_tiles, record_floats
from tileops.kernels.compile import OWN_BARRIERS, bare_function

__all__ = ["PASSES", "build", "program"]

PASSES = {
    **OWN_BARRIERS,
    "tl.disable_shared_memory_reuse": True,
    "tl.enable_fast_math": True,
}
"""The program itself says which memory serves twice. Exponentials and quotients need no more than
the hardware's own accuracy."""


def build(form: GQAForm, tiling: DecodeTiling, facts: DeviceFacts) -> Callable[..., None]:
    """Compile for calls of one form on a device of these facts.

    Returns:
        ``launch(q, k, v, o, parts, tickets, clusters)``, for fp8 with the three scales after
        *v*, for any batch and number of keys above zero. *parts* is float32 memory of one record
        a sequence, tile of query heads of a key head, and cluster; *tickets* are int32 zeros, one
        for each such tile and block of a cluster, and are zeros again afterwards. *clusters* is
        how many share a sequence's keys; with one, neither is used.
    """
    assert facts.arch is not None
    return bare_function(program(form, tiling), facts.arch, PASSES)


def program(form, tiling):
    """Return the program for a form and a tiling."""
    import tilelang.language as T

    W = warp_tiles(T, form, tiling)
    M = merge(T, form, tiling, W)
    H, HK, D, G, C = form.heads, form.heads_kv, form.dim, form.group, tiling.cluster
    tiles = head_tiles(G)
    dtype, out_dtype, f32 = form.dtype, form.out_dtype, "float32"
    floats, scaled = record_floats(G, D, C), form.itemsize == 1
    units = form.scale / form.softcap * LOG2E if form.softcap else form.scale * LOG2E
    # A program imports one source.
    source = (SEND if C > 1 else "") + (WIDEN if scaled else "")
    batch, length = T.dynamic("batch"), T.dynamic("length")
    records, slots = T.dynamic("records"), T.dynamic("slots")
    cluster_dims = {"cluster_dims": C} if C > 1 else {}

    def variable(value):
        # An expression would be written out, divisions and all, wherever it is read.
        return T.alloc_var("int32", init=T.cast(value, "int32"))

    def queries():
        return T.Tensor((batch, 1, H, D), dtype)

    def keys():
        return T.Tensor((batch, length, HK, D), dtype)

    def scale():
        return T.Tensor((batch, HK), f32)

    def output():
        return T.Tensor((batch, 1, H, D), out_dtype)

    def work():
        return T.Tensor((records, floats), f32)

    def counts():
        return T.Tensor((slots,), "int32")

    @T.macro
    def decode(block, q, k, v, scales, o, parts, tickets, clusters):
        T.annotate_min_blocks_per_sm(tiling.resident)
        if C > 1 or scaled:
            T.import_source(source)
        M.begin()
        rank = variable(T.block_rank_in_cluster() if C > 1 else 0)
        tile = variable(T.truncmod(block // C, tiles))
        cluster = variable(T.truncmod(block // C // tiles, clusters))
        pair = variable(T.truncdiv(block // C // tiles, clusters))
        b = variable(pair // HK)
        head_kv = variable(pair % HK)
        head = variable(head_kv * G + tile * ROWS)
        count = T.min(G - tile * ROWS, ROWS)
        w = W.place(b, head_kv, length)
        m = M.place(w, rank, cluster, clusters, pair * tiles + tile, head, count)
        W.begin(w)
        whole = T.cast(T.ceildiv(length, W.copies.unit), "int64")
        split, splits = cluster * C + rank, clusters * C
        first = variable(T.truncdiv(whole * split, T.cast(splits, "int64")))
        last = variable(T.truncdiv(whole * (split + 1), T.cast(splits, "int64")))
        # Nothing of the block waits for memory until its first keys are on their way.
        W.copies.start(w, k, v, first, last)
        factor = T.alloc_local((2,), f32)
        factor[0] = units
        factor[1] = 1.0
        if scaled:
            factor[0] *= scales[0][b, head_kv] * scales[1][b, head_kv]
            factor[1] = scales[2][b, head_kv]
        W.read_queries(w, q, head, count)
        W.walk(w, k, v, factor[0])
        M.finish(m, o, parts, tickets, factor[1])

    if scaled:

        @T.prim_func
        def main(
            q: queries(), k: keys(), v: keys(), q_scale: scale(), k_scale: scale(),
            v_scale: scale(), o: output(), parts: work(), tickets: counts(), clusters: T.int32,
        ):  # fmt: skip
            with T.Kernel(
                batch * HK * tiles * clusters * C, threads=tiling.threads, **cluster_dims
            ) as x:
                decode(x, q, k, v, (q_scale, k_scale, v_scale), o, parts, tickets, clusters)

    else:

        @T.prim_func
        def main(
            q: queries(), k: keys(), v: keys(), o: output(), parts: work(), tickets: counts(),
            clusters: T.int32,
        ):  # fmt: skip
            with T.Kernel(
                batch * HK * tiles * clusters * C, threads=tiling.threads, **cluster_dims
            ) as x:
                decode(x, q, k, v, (), o, parts, tickets, clusters)

    return main
