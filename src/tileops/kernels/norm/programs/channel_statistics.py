"""The statistics of channels, taken by the threads, blocks and launches that share them.

A mean and the sum of squared deviations from it come out of one pass, without subtracting the
square of a sum from a sum of squares of the elements. Every merge runs in an order that depends on
the layout alone, so equal calls give equal bits.
"""

from types import SimpleNamespace

__all__ = ["channel_statistics"]

# Rounds of partials up to which code for each is worth its size.
_UNROLLED = 8


def channel_statistics(T, spatial, B):
    """Return the statistics for the building blocks *B* of channels of *spatial* elements.

    A *partial* is a triple: how many elements, their mean, and the sum of their squared deviations
    from it, or for the backward pass two sums and a number that is not used.
    """
    f32 = B.f32
    V, A, group, rows, lanes, warps = B.V, B.A, B.group, B.rows, B.lanes, B.warps
    blocks, unit = B.blocks, B.unit
    # Accesses, or their units where they straddle, of one channel in one sample.
    per_channel = spatial // unit if lanes else 1
    # Partials of a channel as rounds of lanes, the longer side along the lanes: a division less.
    entries = (1, warps)
    if lanes:
        entries = (min(rows, per_channel), max(rows, per_channel))
    turns = -(-group // warps)
    row_length = group * per_channel
    # The board: what blocks hand over, 16 bytes each, then what threads or warps do, then the
    # coefficients of every channel.
    half = blocks * group * 4
    entries_at = half * B.halves if blocks > 1 else 0
    columns_at = entries_at + (2 * rows * row_length if lanes else 3 * warps)
    swaps = (16, 8, 4, 2, 1)
    at_once = min(A, 4)

    def place(s):
        """Set up what the statistics need of the thread."""
        s.origin = T.alloc_local((A,), f32)
        s.sums = T.alloc_local((A,), f32)
        s.squares = T.alloc_local((A,), f32)
        s.off = T.alloc_local((1,), f32)
        s.ref = T.alloc_local((1,), f32)
        s.total = T.alloc_local((1,), f32)
        s.rest = T.alloc_local((1,), f32)
        s.square = T.alloc_local((1,), f32)
        # One buffer: TileLang lets buffers share memory between barriers that it would place.
        s.board = T.alloc_shared((columns_at + 3 * group,), f32)

    def entry(s, which, row, place):
        if not lanes:
            return s.board[entries_at + which * warps + place]
        return s.board[entries_at + (which * rows + row) * row_length + place]

    def elements(s):
        """How many elements stand behind each statistic of the thread."""
        return T.cast(B.count(s) * unit, f32)

    def row_elements(s, row):
        """How many elements of one column, or access, the threads of *row* have met."""
        return T.cast(T.max(0, T.ceildiv(s.limit - row, rows)) * unit, f32)

    @T.macro
    def post(s, which, values):
        """Hand a value of each of the thread's columns to the block, or one of its warp."""
        if lanes:
            # Whole accesses: neighbouring threads' single ones would meet in the same banks.
            for some in T.unroll(A // at_once):
                for a in T.vectorized(at_once):
                    s.board[
                        entries_at
                        + (which * rows + s.own) * row_length
                        + s.column * A
                        + some * at_once
                        + a
                    ] = values[some * at_once + a]
        else:
            s.board[entries_at + which * warps + s.warp] = values[0]

    @T.macro
    def visit_moments(s, k, u):
        B.unpack(s, 0, u, s.x)
        if u == 0 and k == 0:
            if A > 1:
                for a in T.unroll(A):
                    s.origin[a] = s.x[a * unit]
            else:
                # The mean of the first access, pairwise: exact where its elements are equal.
                for i in T.unroll(V):
                    s.other[i] = s.x[i] * (1.0 / V)
                for half in tuple(V >> fold for fold in range(1, V.bit_length())):
                    for i in T.unroll(half):
                        s.other[i] += s.other[i + half]
                s.origin[0] = s.other[0]
        for i in T.unroll(V):
            a = B.unit_of(i)
            s.off[0] = s.x[i] - s.origin[a]
            s.sums[a] += s.off[0]
            s.squares[a] += s.off[0] * s.off[0]

    @T.macro
    def clear(s):
        for a in T.unroll(A):
            s.origin[a] = 0.0
            s.sums[a] = 0.0
            s.squares[a] = 0.0

    @T.macro
    def moments(s):
        """Leave the partials of the thread's channels in its accumulators.

        A thread takes deviations from an origin c, the mean of its first access or the first
        element of a unit. With S1 and S2 the sums of the deviations and of their squares over N
        elements, its own sum of squared deviations is S2 - S1^2 / N; since c is one of the N
        elements or a mean of some, S1^2 / N is at most N times the result, whatever the data.
        """
        clear(s)
        B.sweep(s, visit_moments, True)
        for a in T.unroll(A):
            s.sums[a] = s.sums[a] / T.max(elements(s), 1.0)
            # An overflowing sum of squares is infinite, not the difference of two infinities.
            if s.squares[a] < T.infinity(f32):
                s.squares[a] -= elements(s) * s.sums[a] * s.sums[a]
            s.origin[a] += s.sums[a]

    @T.macro
    def publish_moments(s):
        """Hand the thread's partials, or those of its warp, to the block."""
        if lanes:
            if s.own < rows:
                post(s, 0, s.origin)
                post(s, 1, s.squares)
        else:
            # Lane 0 of a warp has items if any lane has.
            s.ref[0] = T.shfl_sync(s.origin[0], 0)
            s.total[0] = elements(s)
            s.off[0] = T.if_then_else(s.total[0] > 0.0, s.origin[0] - s.ref[0], 0.0)
            s.rest[0] = s.total[0] * s.off[0]
            for swap in swaps:
                s.total[0] += T.shfl_xor(s.total[0], swap)
                s.rest[0] += T.shfl_xor(s.rest[0], swap)
            s.rest[0] = s.rest[0] / T.max(s.total[0], 1.0)
            s.off[0] -= s.rest[0]
            s.square[0] = s.squares[0] + elements(s) * s.off[0] * s.off[0]
            for swap in swaps:
                s.square[0] += T.shfl_xor(s.square[0], swap)
            s.rest[0] += s.ref[0]
            if s.thread % 32 == 0:
                post(s, 0, s.rest)
                post(s, 1, s.square)
                post(s, 2, s.total)
        T.sync_threads()

    def rounds(several):
        """Walk the rounds of partials."""
        count = several[0]
        return T.unroll(count) if count <= _UNROLLED else T.serial(count)

    @T.macro
    def merge(s, several, partial):
        """Merge partials: leave their elements, mean (``ref + rest``) and squares.

        *several* says how many rounds there are, and partials in each. ``partial(r, e)`` returns
        the elements, the mean and the squares of partial *e* of round *r*; the first of all is of
        some element. Their means are merged by the distances from the first one (Chan, Golub and
        LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances",
        1979), so a large mean costs no accuracy.
        """
        s.ref[0] = partial(0, 0)[1]
        s.total[0] = 0.0
        s.rest[0] = 0.0
        s.square[0] = 0.0
        for a in T.serial(T.ceildiv(several[1], 32)):
            for r in rounds(several):
                e = a * 32 + s.thread % 32
                # Nested, since the partial behind the condition exists only under it.
                if e < several[1]:  # noqa: SIM102
                    if partial(r, e)[0] > 0.0:
                        s.total[0] += partial(r, e)[0]
                        s.rest[0] += partial(r, e)[0] * (partial(r, e)[1] - s.ref[0])
        for swap in swaps:
            s.total[0] += T.shfl_xor(s.total[0], swap)
            s.rest[0] += T.shfl_xor(s.rest[0], swap)
        s.rest[0] = s.rest[0] / T.max(s.total[0], 1.0)
        for a in T.serial(T.ceildiv(several[1], 32)):
            for r in rounds(several):
                e = a * 32 + s.thread % 32
                if e < several[1]:  # noqa: SIM102
                    if partial(r, e)[0] > 0.0:
                        s.off[0] = partial(r, e)[1] - s.ref[0] - s.rest[0]
                        s.square[0] += partial(r, e)[2] + partial(r, e)[0] * s.off[0] * s.off[0]
        for swap in swaps:
            s.square[0] += T.shfl_xor(s.square[0], swap)

    def published(s, channel):
        """Return the partials that `publish_moments` handed over of one channel of the group."""

        def partial(r, e):
            if not lanes:
                return entry(s, 2, 0, e), entry(s, 0, 0, e), entry(s, 1, 0, e)
            row, column = (r, e) if rows <= per_channel else (e, r)
            place = channel * per_channel + column
            return row_elements(s, row), entry(s, 0, row, place), entry(s, 1, row, place)

        return partial

    def gathered(s, channel):
        """Return the partials that the blocks of the cluster handed over of one channel."""
        return lambda _, e: tuple(
            s.board[s.half * half + (e * group + channel) * 4 + which] for which in range(3)
        )

    def recorded(s, partials, channel):
        """Return the partials that an earlier launch recorded of one channel."""
        # A last group may lack channels; their coefficients are not used.
        there = T.min(s.first_channel + channel, s.channels - 1)
        return lambda _, e: tuple(partials[there, e, which] for which in range(3))

    @T.macro
    def exchange(s, channel):
        """Give every block of the cluster this block's partial of a channel."""
        if s.thread % 32 < blocks:
            T.call_extern(
                "handle",
                "tileops::store_in_block",
                T.address_of(s.board[s.half * half + (s.part * group + channel) * 4]),
                s.thread % 32,
                s.total[0],
                s.ref[0] + s.rest[0],
                s.square[0],
            )

    @T.macro
    def join(s):
        """Wait until every block of the cluster has handed its partials over."""
        # Only warps that hand something over order memory: the others would wait for their writes.
        if s.warp < group:
            T.cluster_arrive()
        else:
            T.cluster_arrive_relaxed()
        T.cluster_wait()

    def coefficient(s, which, channel):
        return s.board[columns_at + which * group + channel]

    @T.macro
    def set_coefficient(s, which, channel, value):
        s.board[columns_at + which * group + channel] = value

    return SimpleNamespace(**locals())
