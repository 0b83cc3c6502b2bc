"""A warp's products over 16-bit keys and values, loaded from shared memory as matrices."""

from types import SimpleNamespace

__all__ = ["half_tiles"]


def half_tiles(T, c):
    """Return how a warp reads queries, scores a tile and sums its values.

    Args:
        T: ``tilelang.language``.
        c: Sizes and the product, from `warp_tiles`.
    """

    def fragment():
        return T.alloc_local((8,), c.compute)

    @T.macro
    def queries(w, q, head, count, step):
        for i in T.unroll(4):
            row = w.row + i % 2 * 8
            first = step * 16 + i // 2 * 8 + w.column * 2
            for e in T.vectorized(2):
                w.queries[c.at(step) + i * 2 + e] = T.if_then_else(
                    T.And(row < count, first < c.D),
                    q[w.batch, 0, head + row, first + e],
                    T.cast(0, c.compute),
                )

    @T.macro
    def score(w, slot):
        for step in T.unroll(c.steps):
            c.fetch(w, step)
            for pair in T.unroll(c.blocks // 2):
                key = pair * 16 + w.lane // 16 * 8 + w.lane % 8
                first = step * 16 + w.lane // 8 % 2 * 8
                T.ptx_ldmatrix(
                    T.bool(False),
                    4,
                    T.access_ptr(w.stage[c.staged(w, slot, 0, key, first)], "r", 8),
                    T.access_ptr(w.part[0], "w", 8),
                )
                for half in T.unroll(2):
                    c.multiply(
                        w.queries, c.at(step), w.part, half * 4, w.scores, (pair * 2 + half) * 4
                    )

    @T.macro
    def accumulate(w, slot):
        for step in T.unroll(c.blocks // 2):
            for pair in T.unroll(c.columns // 2):
                key = step * 16 + w.lane // 8 % 2 * 8 + w.lane % 8
                first = pair * 16 + w.lane // 16 * 8
                T.ptx_ldmatrix(
                    T.bool(True),
                    4,
                    T.access_ptr(w.stage[c.staged(w, slot, 1, key, first)], "r", 8),
                    T.access_ptr(w.part[0], "w", 8),
                )
                for half in T.unroll(2):
                    c.multiply(w.weights, step * 8, w.part, half * 4, w.out, (pair * 2 + half) * 4)

    def element(i, column):
        return i // 4 * 8 + column * 2 + i % 2

    return SimpleNamespace(**locals())
