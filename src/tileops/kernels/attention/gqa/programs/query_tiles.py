"""What the programs for many queries share: a block's tile of queries and its softmax.

The softmax is taken as the tiles of keys pass, rescaling what was summed (Milakov and Gimelshein,
"Online normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022). Scores are
in units of log2 when they reach the exponential.
"""

import math
from types import SimpleNamespace

__all__ = ["query_tiles"]

LOG2E = math.log2(math.e)


def query_tiles(T, form, tiling, compute):
    """Return the building blocks of a program over tiles of queries.

    Args:
        T: ``tilelang.language``.
        form: The `GQAForm`.
        tiling: The `PrefillTiling`.
        compute: TileLang's name of the dtype of products.
    """
    f32 = "float32"
    M, N = tiling.queries, tiling.keys
    # Columns of a staged row: whole steps of a tensor core instruction.
    W = math.ceil(form.dim / 16) * 16
    causal, capped = form.is_causal, form.softcap > 0.0
    cap = form.softcap * LOG2E
    units = form.scale / form.softcap * LOG2E if capped else form.scale * LOG2E
    lowest = -T.infinity(f32)

    def blocks(queries, batch):
        """The grid: every tile of queries of every head of every sequence."""
        return T.ceildiv(queries, M) * form.heads * batch

    def variable(value):
        # An expression would be written out, divisions and all, wherever it is read.
        return T.alloc_var("int32", init=value)

    def head_of(x, queries):
        """The block's head among those of all sequences."""
        return T.truncdiv(x, T.ceildiv(queries, M))

    def place(x, queries, keys):
        """Set up the variables of a block, which counts the tiles of queries from the last."""
        s = SimpleNamespace(queries=queries, keys=keys, ahead=keys - queries)
        # Later queries see more keys: the longest blocks go first.
        tiles = T.ceildiv(queries, M)
        s.first = variable((tiles - 1 - T.truncmod(x, tiles)) * M)[0]
        s.scores = T.alloc_fragment((M, N), f32)
        s.weights = T.alloc_fragment((M, N), compute)
        s.out = T.alloc_fragment((M, W), f32)
        s.peak = T.alloc_fragment((M,), f32)
        s.before = T.alloc_fragment((M,), f32)
        s.shrink = T.alloc_fragment((M,), f32)
        s.added = T.alloc_fragment((M,), f32)
        s.total = T.alloc_fragment((M,), f32)
        return s

    def seen_by(s, query):
        """How many keys a query sees."""
        return T.min(s.keys, query + s.ahead + 1) if causal else s.keys

    def tiles(s):
        """How many tiles of keys the block's last query sees."""
        return T.ceildiv(seen_by(s, s.first + M - 1), N)

    @T.macro
    def begin(s):
        T.clear(s.out)
        T.clear(s.total)
        T.fill(s.peak, lowest)

    # A positive constant scale leaves the order of products as it is, so it can wait until one
    # instruction multiplies and subtracts.
    late = not capped and form.itemsize == 2 and form.scale > 0.0
    log2 = units if late else 1.0

    @T.macro
    def weigh(s, t, factor):
        """Turn the products of tile *t* into weights, and say how what was summed shrinks.

        *factor* is what products are multiplied by besides the form's own units.
        """
        if capped:
            for i, j in T.Parallel(M, N):
                # tanh(x) = 1 - 2 / (exp(2 x) + 1)
                s.scores[i, j] = cap - 2.0 * cap / (
                    T.exp2(s.scores[i, j] * (2.0 * units * factor)) + 1.0
                )
        elif not late:
            for i, j in T.Parallel(M, N):
                s.scores[i, j] *= units * factor
        if t * N + N > seen_by(s, s.first):
            for i, j in T.Parallel(M, N):
                if t * N + j >= seen_by(s, s.first + i):
                    s.scores[i, j] = lowest
        T.copy(s.peak, s.before)
        T.reduce_max(s.scores, s.peak, dim=1, clear=False)
        for i in T.Parallel(M):
            # A row may have seen minus infinity only, which must not be subtracted from itself.
            s.added[i] = T.if_then_else(s.peak[i] == lowest, 0.0, s.peak[i] * log2)
            s.shrink[i] = T.exp2(s.before[i] * log2 - s.added[i])
        for i, j in T.Parallel(M, N):
            s.scores[i, j] = T.exp2(s.scores[i, j] * log2 - s.added[i])
        T.reduce_sum(s.scores, s.added, dim=1)
        for i in T.Parallel(M):
            s.total[i] = s.total[i] * s.shrink[i] + s.added[i]

    @T.macro
    def settle(s):
        """Round the weights for the product with values, and shrink what was summed."""
        T.copy(s.scores, s.weights)
        for i, j in T.Parallel(M, W):
            s.out[i, j] *= s.shrink[i]

    @T.macro
    def divide(s, factor):
        """Divide the output by the sum of weights, *factor* times."""
        for i, j in T.Parallel(M, W):
            s.out[i, j] *= factor / s.total[i]

    return SimpleNamespace(**locals())
