"""From the statistics of channels to normalized data: coefficients, what is kept, the last pass."""

from dataclasses import dataclass
from types import SimpleNamespace

__all__ = ["Factors", "channel_normal"]


@dataclass(frozen=True, slots=True)
class Factors:
    """Which tensors of a channel each a program reads and writes.

    Attributes:
        weight: Whether a scale is read.
        bias: Whether a shift is read.
        running: Whether the statistics move running ones, beside being returned.
    """

    weight: bool
    bias: bool
    running: bool


def channel_normal(T, B, S, eps, momentum, factors):
    """Return the last steps of a forward program for the blocks *B* and the statistics *S*."""
    f32, V, A, group = B.f32, B.V, B.A, B.group

    def place(s, weight, bias, running_mean, running_var, mean, rstd):
        """Set up the coefficients; the tensors are addresses."""
        channels = (s.channels,)
        s.weight = T.make_tensor_from_addr(weight, channels, B.dtype)
        s.bias = T.make_tensor_from_addr(bias, channels, B.dtype)
        s.running_mean = T.make_tensor_from_addr(running_mean, channels, f32)
        s.running_var = T.make_tensor_from_addr(running_var, channels, f32)
        s.mean = T.make_tensor_from_addr(mean, channels, f32)
        s.rstd = T.make_tensor_from_addr(rstd, channels, f32)
        s.factor = T.alloc_local((2,), f32)
        s.previous = T.alloc_local((2,), f32)
        s.origin_of = T.alloc_local((A,), f32)
        s.scale = T.alloc_local((A,), f32)
        s.shift = T.alloc_local((A,), f32)

    @T.macro
    def ask(s, channel):
        """Read what belongs to a channel of the group, before the wait for its statistics."""
        s.factor[0] = 1.0
        s.factor[1] = 0.0
        if s.first_channel + channel < s.channels:
            if factors.weight:
                s.factor[0] = T.cast(s.weight[s.first_channel + channel], f32)
            if factors.bias:
                s.factor[1] = T.cast(s.bias[s.first_channel + channel], f32)
            if factors.running:
                s.previous[0] = s.running_mean[s.first_channel + channel]
                s.previous[1] = s.running_var[s.first_channel + channel]

    @T.macro
    def finish(s, channel):
        """Turn the merged statistics of a channel into coefficients, and keep what is kept."""
        if s.thread % 32 == 0:
            s.off[0] = T.rsqrt(s.square[0] / s.total[0] + eps)
            S.set_coefficient(s, 0, channel, s.ref[0])
            S.set_coefficient(s, 1, channel, s.factor[0] * s.off[0])
            S.set_coefficient(s, 2, channel, s.factor[1] - s.rest[0] * (s.factor[0] * s.off[0]))
            if s.part == 0 and s.first_channel + channel < s.channels:
                s.mean[s.first_channel + channel] = s.ref[0] + s.rest[0]
                s.rstd[s.first_channel + channel] = s.off[0]
                if factors.running:
                    s.running_mean[s.first_channel + channel] = (
                        s.previous[0] * (1.0 - momentum) + (s.ref[0] + s.rest[0]) * momentum
                    )
                    s.running_var[s.first_channel + channel] = (
                        s.previous[1] * (1.0 - momentum)
                        + s.square[0] / (s.total[0] - 1.0) * momentum
                    )

    @T.macro
    def settle(s):
        """Take the coefficients of the thread's channels."""
        T.sync_threads()
        for a in T.unroll(A):
            s.origin_of[a] = S.coefficient(s, 0, B.channel_of(s, a))
            s.scale[a] = S.coefficient(s, 1, B.channel_of(s, a))
            s.shift[a] = S.coefficient(s, 2, B.channel_of(s, a))

    @T.macro
    def visit(s, k, u):
        B.unpack(s, 0, u, s.x)
        for i in T.unroll(V):
            a = B.unit_of(i)
            s.x[i] = (s.x[i] - s.origin_of[a]) * s.scale[a] + s.shift[a]
        B.write(s, 0, k, s.x)

    @T.macro
    def normalize(s):
        """Write every item of the thread."""
        B.sweep(s, visit, False)

    return SimpleNamespace(**locals())
