"""The statistics of a row, taken by the threads that share it.

A mean and the sum of squared deviations from it come out of one pass over the row, without
subtracting the square of a sum from a sum of squares of the elements.
"""

from types import SimpleNamespace

__all__ = ["row_statistics"]


def row_statistics(T, n, B):
    """Return ``moments`` and ``total_square`` for the building blocks *B* of rows of *n* elements.

    Both call ``load(s, k)``, which leaves the thread's vector *k* in ``s.x``.
    """
    V, f32 = B.V, B.f32
    holds, arrive, swaps = B.holds, B.arrive, B.swaps
    lanes_of_warps = min(B.warps, 32)
    later = 1 if B.applied else 0  # The copies that only the result needs come last.

    def elements(first, count):
        """How many elements of a row the *count* lanes from lane *first* hold."""
        ragged = T.max(0, T.min(count, B.vectors - B.full * B.stride - first)) * V if B.tail else 0
        return T.cast(B.full * count * V + ragged, f32)

    def share(some, of):
        """*some* out of *of* elements, where *of* may be zero with it."""
        return some / (of if B.full else T.max(of, 1.0))

    @T.macro
    def exchange(s):
        """Give every thread of the row the partials of its warps."""
        if B.blocks > 1:
            # The others' shared memory is there once they have started, which each said at once.
            T.cluster_wait()
            if s.thread % 32 < B.blocks:
                T.call_extern(
                    "handle",
                    "tileops::store_in_block",
                    T.address_of(s.partials[s.group, s.lane // 32, 0]),
                    s.thread % 32,
                    s.mean[0],
                    s.rest[0],
                    s.squares[0],
                )
            T.cluster_sync()
        else:
            if s.thread % 32 == 0:
                s.partial[0, 0] = s.mean[0]
                s.partial[0, 1] = s.rest[0]
                s.partial[0, 2] = s.squares[0]
                s.partial[0, 3] = 0.0
                for i in T.vectorized(4):
                    s.partials[s.group, s.lane // 32, i] = s.partial[0, i]
            T.sync_threads()
        for a in T.unroll(B.slots):
            for i in T.vectorized(4):
                s.partial[a, i] = s.partials[s.group, s.thread % 32 % B.warps + a * 32, i]

    @T.macro
    def centre(s):
        """Average the first vector pairwise, which is exact where its elements are equal."""
        for i in T.unroll(V):
            s.other[i] = s.x[i] * (1.0 / V)
        for half in tuple(V >> step for step in range(1, V.bit_length())):
            for i in T.unroll(half):
                s.other[i] += s.other[i + half]
        s.mean[0] = s.other[0]

    @T.macro
    def deviate(s, load):
        """Pass over the thread's vectors: deviations from the first one's mean, and squares."""
        s.mean[0] = 0.0
        s.rest[0] = 0.0
        s.squares[0] = 0.0
        if not B.singly:
            arrive(later)
        for k in B.each(8):
            if B.singly:
                arrive(B.per - 1 - k + later)
            if holds(s, k):
                load(s, k)
                if k == 0:
                    centre(s)
                for i in T.unroll(V):
                    s.off[0] = s.x[i] - s.mean[0]
                    # Scaled at once: a sum of large deviations would overflow.
                    s.rest[0] += s.off[0] * (1.0 / (B.per * V))
                    s.squares[0] += s.off[0] * s.off[0]

    @T.macro
    def merge(s):
        """Merge the partials of the row's warps: each lane takes one in 32 of them."""
        exchange(s)
        s.mean[0] = s.partials[s.group, 0, 0]
        s.rest[0] = 0.0
        for a in T.unroll(B.slots):
            s.share[a] = elements((s.thread % 32 % B.warps + a * 32) * 32, 32)
            s.partial[a, 0] += s.partial[a, 1] - s.mean[0]
            s.rest[0] += s.share[a] * (1.0 / n) * s.partial[a, 0]
        for i in swaps(lanes_of_warps):
            s.rest[0] += T.shfl_xor(s.rest[0], 1 << i)
        s.squares[0] = 0.0
        for a in T.unroll(B.slots):
            s.off[0] = s.partial[a, 0] - s.rest[0]
            s.squares[0] += s.partial[a, 2] + s.share[a] * s.off[0] * s.off[0]
        for i in swaps(lanes_of_warps):
            s.squares[0] += T.shfl_xor(s.squares[0], 1 << i)

    @T.macro
    def moments(s, load):
        """Leave the row's mean in ``mean + rest`` and the sum of squared deviations in ``squares``.

        A thread takes deviations from the mean c of its first vector. With S1 and S2 the sums of
        the deviations and of their squares over N elements, its own sum of squared deviations is
        S2 - S1^2 / N. The subtraction is harmless: c is the mean of V of the N elements, so
        S1^2 / N is at most N / V times the result, whatever the data. Threads and then warps are
        merged by the distances of their means from one of them (Chan, Golub and LeVeque, "Updating
        formulae and a pairwise algorithm for computing sample variances", 1979). So a large mean
        costs no accuracy, equal elements give exactly zero, an overflowing variance is infinite
        and NaN stays NaN.
        """
        deviate(s, load)
        mine = elements(s.lane, 1)
        count = elements(s.lane // B.width * B.width, B.width)
        s.off[0] = s.rest[0] * share(T.float32(B.per * V), mine) if B.tail else s.rest[0]
        if s.squares[0] < T.infinity(f32):
            s.squares[0] -= mine * s.off[0] * s.off[0]
        s.rest[0] = s.mean[0]
        s.mean[0] = T.shfl_sync(s.rest[0], s.thread % 32 // B.width * B.width)
        s.off[0] += s.rest[0] - s.mean[0]
        s.rest[0] = s.off[0] * (share(mine, count) if B.tail else 1.0 / B.width)
        for i in swaps(B.width):
            s.rest[0] += T.shfl_xor(s.rest[0], 1 << i)
        s.off[0] -= s.rest[0]
        s.squares[0] += mine * s.off[0] * s.off[0]
        for i in swaps(B.width):
            s.squares[0] += T.shfl_xor(s.squares[0], 1 << i)
        if B.warps > 1:
            merge(s)

    @T.macro
    def total_square(s, load):
        """Leave the sum of the row's squares in ``squares``."""
        s.mean[0] = 0.0
        s.rest[0] = 0.0
        s.squares[0] = 0.0
        if not B.singly:
            arrive(later)
        for k in B.each(8):
            if B.singly:
                arrive(B.per - 1 - k + later)
            if holds(s, k):
                load(s, k)
                for i in T.unroll(V):
                    s.squares[0] += s.x[i] * s.x[i]
        for i in swaps(B.width):
            s.squares[0] += T.shfl_xor(s.squares[0], 1 << i)
        if B.warps > 1:
            exchange(s)
            s.squares[0] = 0.0
            for a in T.unroll(B.slots):
                s.squares[0] += s.partial[a, 2]
            for i in swaps(lanes_of_warps):
                s.squares[0] += T.shfl_xor(s.squares[0], 1 << i)

    return SimpleNamespace(moments=moments, total_square=total_square)
