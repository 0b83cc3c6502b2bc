"""The TileLang program that normalizes channels by statistics that are given."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tileops.kernels.compile import OWN_BARRIERS, bare_function
from tileops.kernels.norm.programs.infer_layout import InferLayout

if TYPE_CHECKING:
    import torch

__all__ = ["build", "program"]


def build(
    spatial: int,
    eps: float,
    dtype: "torch.dtype",
    layout: InferLayout,
    has_weight: bool,
    has_bias: bool,
    arch: int,
) -> Callable[..., None]:
    """Compile for planes of *spatial* elements of a torch dtype.

    Returns:
        ``launch(anchor, x, mean, var, weight, bias, y, samples, channels)`` for any number of
        samples above zero. All but *anchor* and the last two are addresses, of weight and bias 0
        where there is none; *x* and *y* are multiples of 16. *anchor* is a float32 tensor of one
        element, which says on which device and stream to launch.
    """
    name = str(dtype).removeprefix("torch.")
    whole = program(spatial, eps, name, layout, has_weight, has_bias)
    return bare_function(whole, arch, OWN_BARRIERS)


def program(spatial, eps, dtype, layout, has_weight, has_bias):
    """Return the program for a layout; *dtype* is TileLang's name of the data's dtype."""
    import tilelang.language as T

    f32 = "float32"
    V, threads, depth, beside = layout.vector, layout.threads, layout.depth, layout.beside
    # An access that may straddle channels has coefficients of its own for every element.
    A = V if spatial % V else 1
    plane = spatial // V
    tiles = -(-plane // (threads * depth))

    @T.prim_func
    def main(
        anchor: T.Tensor((1,), f32),
        x: T.int64,
        means: T.int64,
        variances: T.int64,
        weight: T.int64,
        bias: T.int64,
        y: T.int64,
        samples: T.int32,
        channels: T.int32,
    ):
        pitch = T.cast(channels, "int64") * spatial // V
        blocks = (
            T.cast(samples, "int64") * channels * tiles
            if layout.by_planes
            else T.ceildiv(pitch, threads) * T.ceildiv(samples, depth * beside)
        )
        with T.Kernel(T.cast(blocks, "int32"), threads=threads) as block:
            if layout.overlap:
                T.pdl_sync()
            total = T.cast(samples, "int64") * pitch
            source = T.make_tensor_from_addr(x, (total, V), dtype)
            result = T.make_tensor_from_addr(y, (total, V), dtype)
            mean = T.make_tensor_from_addr(means, (channels,), f32)
            var = T.make_tensor_from_addr(variances, (channels,), f32)
            scales = T.make_tensor_from_addr(weight, (channels,), dtype)
            shifts = T.make_tensor_from_addr(bias, (channels,), dtype)
            packed = T.alloc_local((depth, V), dtype)
            value = T.alloc_local((V,), f32)
            origin = T.alloc_local((A,), f32)
            scale = T.alloc_local((A,), f32)
            shift = T.alloc_local((A,), f32)
            number = T.alloc_local((3,), "int32")
            place = T.alloc_local((3,), "int64")
            thread = T.get_thread_binding()
            # The first access, the distance to the next one, and how many there are.
            if layout.by_planes:
                number[0] = block // tiles % channels
                number[1] = block % tiles * (threads * depth) + thread
                place[0] = T.cast(block // tiles, "int64") * plane + number[1]
                place[1] = threads
                number[2] = T.ceildiv(plane - number[1], threads)
            else:
                if beside > 1:
                    number[0] = T.truncdiv(thread, T.cast(pitch, "int32"))
                    number[1] = block * (depth * beside) + number[0]
                    place[2] = thread - number[0] * pitch
                    number[2] = T.if_then_else(
                        number[0] < beside, T.ceildiv(samples - number[1], beside), 0
                    )
                else:
                    number[1] = block // T.cast(T.ceildiv(pitch, threads), "int32") * depth
                    place[2] = (
                        T.cast(block % T.cast(T.ceildiv(pitch, threads), "int32"), "int64")
                        * threads
                        + thread
                    )
                    number[2] = T.if_then_else(place[2] < pitch, samples - number[1], 0)
                number[0] = T.cast(place[2] * V // spatial, "int32")
                place[0] = place[2] + number[1] * pitch
                place[1] = pitch * beside
            for d in T.unroll(depth):
                if d < number[2]:
                    for i in T.vectorized(V):
                        packed[d, i] = source[place[0] + d * place[1], i]
            if layout.overlap:
                T.pdl_trigger()
            for a in T.unroll(A):
                # Elements of one access lie in neighbouring channels.
                channel = T.cast((place[2] * V + a) // spatial, "int32") if A > 1 else number[0]
                if number[2] > 0:
                    origin[a] = mean[channel]
                    scale[a] = T.rsqrt(var[channel] + eps)
                    if has_weight:
                        scale[a] *= T.cast(scales[channel], f32)
                    shift[a] = T.cast(shifts[channel], f32) if has_bias else T.float32(0)
            for d in T.unroll(depth):
                if d < number[2]:
                    for i in T.vectorized(V):
                        value[i] = T.cast(packed[d, i], f32)
                    for i in T.unroll(V):
                        a = i if A > 1 else 0
                        value[i] = (value[i] - origin[a]) * scale[a] + shift[a]
                    for i in T.vectorized(V):
                        packed[d, i] = T.cast(value[i], dtype)
                    for i in T.vectorized(V):
                        result[place[0] + d * place[1], i] = packed[d, i]

    return main
