"""The TileLang program that moves running statistics by the averages of those of instances."""

from collections.abc import Callable

from tileops.kernels.compile import OWN_BARRIERS, bare_function

__all__ = ["build", "program"]

_THREADS = 128
_WARPS = _THREADS // 32


def build(momentum: float, arch: int) -> Callable[..., None]:
    """Compile for any number of samples and channels.

    Returns:
        ``launch(anchor, running_mean, running_var, means, variances, samples, channels)``. The
        running statistics, which are written in place, and those of the instances, (samples,
        channels), are addresses of float32 values. *anchor* is a float32 tensor of one element,
        which says on which device and stream to launch.
    """
    return bare_function(program(momentum, arch), arch, OWN_BARRIERS)


def program(momentum, arch):
    """Return the program."""
    import tilelang.language as T

    f32 = "float32"

    @T.prim_func
    def main(
        anchor: T.Tensor((1,), f32),
        old_mean: T.int64,
        old_var: T.int64,
        means: T.int64,
        variances: T.int64,
        samples: T.int32,
        channels: T.int32,
    ):
        with T.Kernel(T.ceildiv(channels, _WARPS), threads=_THREADS) as block:
            if arch >= 90:
                T.pdl_sync()
            running_mean = T.make_tensor_from_addr(old_mean, (channels,), f32)
            running_var = T.make_tensor_from_addr(old_var, (channels,), f32)
            total = (T.cast(samples, "int64") * channels,)
            mean = T.make_tensor_from_addr(means, total, f32)
            var = T.make_tensor_from_addr(variances, total, f32)
            sums = T.alloc_local((2,), f32)
            thread = T.get_thread_binding()
            channel = block * _WARPS + thread // 32
            sums[0] = 0.0
            sums[1] = 0.0
            if channel < channels:
                for turn in T.serial(T.ceildiv(samples, 32)):
                    sample = turn * 32 + thread % 32
                    if sample < samples:
                        sums[0] += mean[T.cast(sample, "int64") * channels + channel]
                        sums[1] += var[T.cast(sample, "int64") * channels + channel]
            for swap in (16, 8, 4, 2, 1):
                sums[0] += T.shfl_xor(sums[0], swap)
                sums[1] += T.shfl_xor(sums[1], swap)
            if thread % 32 == 0 and channel < channels:
                running_mean[channel] = (
                    running_mean[channel] * (1.0 - momentum)
                    + sums[0] / T.cast(samples, f32) * momentum
                )
                running_var[channel] = (
                    running_var[channel] * (1.0 - momentum)
                    + sums[1] / T.cast(samples, f32) * momentum
                )

    return main
