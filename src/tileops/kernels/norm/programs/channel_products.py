"""The sums of the backward pass over channels, and the gradient that follows from them."""

from types import SimpleNamespace

__all__ = ["channel_products"]


def channel_products(T, spatial, B, S, has_weight):
    """Return the steps of a backward program for the blocks *B*, on the board of *S*.

    Stream 0 is the gradient dy of the output, stream 1 the input x. Of a channel with mean m,
    reciprocal deviation r and scale w over L elements they take the sums p of dy and q of
    dy (x - m); then dx = w r (dy - p / L - (x - m) r^2 q / L), the scale's gradient is r q and the
    shift's p. A partial's mean is p here, its squares are q.
    """
    f32, V, A = B.f32, B.V, B.A
    lanes, rows = B.lanes, B.rows

    def place(s, mean, rstd, weight, grad_weight, grad_bias):
        """Set up what the thread needs; the tensors are addresses."""
        channels = (s.channels,)
        s.mean = T.make_tensor_from_addr(mean, channels, f32)
        s.rstd = T.make_tensor_from_addr(rstd, channels, f32)
        s.weight = T.make_tensor_from_addr(weight, channels, B.dtype)
        s.grad_weight = T.make_tensor_from_addr(grad_weight, channels, B.dtype)
        s.grad_bias = T.make_tensor_from_addr(grad_bias, channels, B.dtype)
        s.factor = T.alloc_local((2,), f32)
        s.slope = T.alloc_local((A,), f32)
        s.tilt = T.alloc_local((A,), f32)
        s.lift = T.alloc_local((A,), f32)

    @T.macro
    def clear(s):
        """Take the means of the thread's channels as its origins."""
        for a in T.unroll(A):
            s.origin[a] = s.mean[T.min(s.first_channel + B.channel_of(s, a), s.channels - 1)]
            s.sums[a] = 0.0
            s.squares[a] = 0.0

    @T.macro
    def visit_sums(s, k, u):
        B.unpack(s, 0, u, s.x)
        B.unpack(s, 1, u, s.other)
        for i in T.unroll(V):
            a = B.unit_of(i)
            s.sums[a] += s.x[i]
            s.squares[a] += s.x[i] * (s.other[i] - s.origin[a])

    @T.macro
    def sums(s):
        """Leave both sums of the thread's channels in its accumulators."""
        B.sweep(s, visit_sums, True)

    @T.macro
    def publish_sums(s):
        """Hand the thread's sums, or those of its warp, to the block."""
        if lanes:
            if s.own < rows:
                S.post(s, 0, s.sums)
                S.post(s, 1, s.squares)
        else:
            for swap in S.swaps:
                s.sums[0] += T.shfl_xor(s.sums[0], swap)
                s.squares[0] += T.shfl_xor(s.squares[0], swap)
            if s.thread % 32 == 0:
                S.post(s, 0, s.sums)
                S.post(s, 1, s.squares)
        T.sync_threads()

    @T.macro
    def add_up(s, several, partial):
        """Add partials, given as to ``merge``: leave both sums in ``ref`` and ``square``."""
        s.total[0] = 0.0
        s.rest[0] = 0.0
        s.ref[0] = 0.0
        s.square[0] = 0.0
        for a in T.serial(T.ceildiv(several[1], 32)):
            for r in S.rounds(several):
                e = a * 32 + s.thread % 32
                if e < several[1]:
                    s.ref[0] += partial(r, e)[1]
                    s.square[0] += partial(r, e)[2]
        for swap in S.swaps:
            s.ref[0] += T.shfl_xor(s.ref[0], swap)
            s.square[0] += T.shfl_xor(s.square[0], swap)

    @T.macro
    def ask(s, channel):
        """Read what belongs to a channel of the group, before the wait for its sums."""
        s.factor[0] = 1.0
        s.factor[1] = 0.0
        if s.first_channel + channel < s.channels:
            if has_weight:
                s.factor[0] = T.cast(s.weight[s.first_channel + channel], f32)
            s.factor[1] = s.rstd[s.first_channel + channel]

    @T.macro
    def finish(s, channel):
        """Turn the sums of a channel into coefficients, and write the gradients of its factors."""
        if s.thread % 32 == 0:
            s.off[0] = 1.0 / (T.cast(s.samples, f32) * spatial)
            S.set_coefficient(s, 0, channel, s.factor[0] * s.factor[1])
            S.set_coefficient(
                s,
                1,
                channel,
                -(s.factor[0] * s.factor[1])
                * (s.factor[1] * s.factor[1])
                * (s.square[0] * s.off[0]),
            )
            S.set_coefficient(s, 2, channel, -(s.factor[0] * s.factor[1]) * (s.ref[0] * s.off[0]))
            if s.part == 0 and s.first_channel + channel < s.channels:
                s.grad_weight[s.first_channel + channel] = T.cast(
                    s.square[0] * s.factor[1], B.dtype
                )
                s.grad_bias[s.first_channel + channel] = T.cast(s.ref[0], B.dtype)

    @T.macro
    def settle(s):
        """Take the coefficients of the thread's channels."""
        T.sync_threads()
        for a in T.unroll(A):
            s.slope[a] = S.coefficient(s, 0, B.channel_of(s, a))
            s.tilt[a] = S.coefficient(s, 1, B.channel_of(s, a))
            s.lift[a] = S.coefficient(s, 2, B.channel_of(s, a))

    @T.macro
    def visit(s, k, u):
        B.unpack(s, 0, u, s.x)
        B.unpack(s, 1, u, s.other)
        for i in T.unroll(V):
            a = B.unit_of(i)
            s.x[i] = s.x[i] * s.slope[a] + (s.other[i] - s.origin[a]) * s.tilt[a] + s.lift[a]
        B.write(s, 0, k, s.x)

    @T.macro
    def differentiate(s):
        """Write every item of the thread."""
        B.sweep(s, visit, False)

    return SimpleNamespace(**locals())
