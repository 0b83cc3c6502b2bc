"""A warp's products over fp8 keys and values, which become float16 in registers.

Every float8_e4m3fn is a float16, so nothing is lost. Which element stands where in a sum makes no
difference: a lane takes sixteen bytes of a key at once, and queries are read in the same order.
Values are loaded as matrices of byte pairs, so that a lane gets neighbouring columns of its keys.
"""

from types import SimpleNamespace

__all__ = ["WIDEN", "fp8_tiles"]

WIDEN = r"""
namespace tileops {
__device__ __forceinline__ unsigned widen_pair(unsigned short pair) {
  unsigned halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
  return halves;
}
// Four bytes to four halves, in order.
__device__ __forceinline__ void widen(const void* from, void* to) {
  unsigned bytes = *static_cast<const unsigned*>(from);
  unsigned* halves = static_cast<unsigned*>(to);
  halves[0] = widen_pair(static_cast<unsigned short>(bytes));
  halves[1] = widen_pair(static_cast<unsigned short>(bytes >> 16));
}
// Two columns of two keys to the halves of one column, and those of the other.
__device__ __forceinline__ void widen_columns(const void* from, void* even, void* odd) {
  unsigned bytes = __byte_perm(*static_cast<const unsigned*>(from), 0, 0x3120);
  *static_cast<unsigned*>(even) = widen_pair(static_cast<unsigned short>(bytes));
  *static_cast<unsigned*>(odd) = widen_pair(static_cast<unsigned short>(bytes >> 16));
}
}
"""


def fp8_tiles(T, c):
    """Return how a warp reads queries, scores a tile and sums its values.

    Args:
        T: ``tilelang.language``.
        c: Sizes and the product, from `warp_tiles`.
    """

    def fragment():
        return SimpleNamespace(
            raw=T.alloc_local((c.blocks, 16), c.dtype), halves=T.alloc_local((16,), c.compute)
        )

    @T.macro
    def queries(w, q, head, count, step):
        for i in T.unroll(4):
            row = w.row + i % 2 * 8
            # Step 4 * s + j takes bytes 4 * j to 4 * j + 3 of a lane's sixteen in 64.
            first = step // 4 * 64 + w.column * 16 + step % 4 * 4 + i // 2 * 2
            for e in T.unroll(2):
                w.queries[c.at(step) + i * 2 + e] = T.if_then_else(
                    T.And(row < count, first < c.D),
                    T.cast(q[w.batch, 0, head + row, first + e], c.compute),
                    T.cast(0, c.compute),
                )

    @T.macro
    def score(w, slot):
        for part in T.unroll(c.width // 64):
            for block in T.unroll(c.blocks):
                for e in T.vectorized(16):
                    w.part.raw[block, e] = w.stage[
                        c.staged(w, slot, 0, block * 8 + w.row, part * 64 + w.column * 16 + e)
                    ]
            for j in T.unroll(4):
                c.fetch(w, part * 4 + j)
                for block in T.unroll(c.blocks):
                    T.call_extern(
                        "handle",
                        "tileops::widen",
                        T.address_of(w.part.raw[block, j * 4]),
                        T.address_of(w.part.halves[0]),
                    )
                    c.multiply(w.queries, c.at(part * 4 + j), w.part.halves, 0, w.scores, block * 4)

    @T.macro
    def accumulate(w, slot):
        for step in T.unroll(c.blocks // 2):
            for part in T.unroll(c.width // 32):
                key = step * 16 + w.lane // 8 % 2 * 8 + w.lane % 8
                first = part * 32 + w.lane // 16 * 16
                T.ptx_ldmatrix(
                    T.bool(True),
                    4,
                    T.access_ptr(w.stage[c.staged(w, slot, 1, key, first)], "r", 16),
                    T.access_ptr(w.part.raw[0, 0], "w", 16),
                )
                for half in T.unroll(2):
                    for eight in T.unroll(2):
                        T.call_extern(
                            "handle",
                            "tileops::widen_columns",
                            T.address_of(w.part.raw[0, half * 8 + eight * 4]),
                            T.address_of(w.part.halves[half * 8 + eight * 2]),
                            T.address_of(w.part.halves[half * 8 + 4 + eight * 2]),
                        )
                    for odd in T.unroll(2):
                        c.multiply(
                            w.weights,
                            step * 8,
                            w.part.halves,
                            half * 8 + odd * 4,
                            w.out,
                            ((part * 2 + half) * 2 + odd) * 4,
                        )

    def element(i, column):
        return i // 8 * 16 + column * 4 + i % 2 * 2 + i // 4 % 2

    return SimpleNamespace(**locals())
