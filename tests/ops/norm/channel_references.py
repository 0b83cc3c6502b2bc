"""Float64 references of batch and instance normalization, inputs, and comparison."""

from __future__ import annotations

import torch

RELATIVE = {torch.float16: 5e-4, torch.bfloat16: 4e-3, torch.float32: 1e-6}
"""The largest norm of the difference over the norm of the reference."""

BACKWARD = {torch.float16: 1e-3, torch.bfloat16: 5e-3, torch.float32: 1e-5}
"""The same of gradients."""

ELEMENTWISE = {
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1e-2),
    torch.float32: (2e-5, 2e-5),
}
"""rtol and atol of every element."""


def data(shape, dtype, seed=0, mean=0.5, deviation=1.5, spread=1.0):
    """Return random data whose channels differ in mean by up to twice *spread*."""
    generator = torch.Generator("cuda").manual_seed(seed)
    x = torch.randn(shape, generator=generator, device="cuda") * deviation + mean
    per_channel = torch.linspace(-spread, spread, shape[1], device="cuda")
    return (x + per_channel.view(1, -1, *[1] * (len(shape) - 2))).to(dtype)


def factors(channels, dtype, seed=1):
    """Return a random weight and bias."""
    generator = torch.Generator("cuda").manual_seed(seed)
    pair = torch.randn(2, channels, generator=generator, device="cuda")
    return pair[0].to(dtype), pair[1].to(dtype)


def running(channels, seed=2):
    """Return random running statistics."""
    generator = torch.Generator("cuda").manual_seed(seed)
    mean = torch.randn(channels, generator=generator, device="cuda")
    var = torch.rand(channels, generator=generator, device="cuda") + 0.5
    return mean, var


def per_channel(vector, like):
    """Return a vector so that it broadcasts over the channels of *like*."""
    return vector.double().view(1, -1, *[1] * (like.ndim - 2))


def scaled(normal, weight, bias):
    """Apply a scale and a shift per channel where they are given."""
    if weight is not None:
        normal = normal * per_channel(weight, normal)
    return normal if bias is None else normal + per_channel(bias, normal)


def normalized(x, dims, eps):
    """Return *x* normalized over *dims*, and their mean, biased variance and reciprocal root."""
    wide = x.double()
    mean = wide.mean(dims, keepdim=True)
    var = (wide - mean).square().mean(dims, keepdim=True)
    rstd = (var + eps).rsqrt()
    return (wide - mean) * rstd, mean, var, rstd


def batch_dims(x):
    """Return the dims that a channel's statistics are taken over."""
    return [0, *range(2, x.ndim)]


def gradients(dy, x, weight, eps):
    """Return the gradients of input, scale and shift, from the definition."""
    dims = batch_dims(x)
    normal, _, _, rstd = normalized(x, dims, eps)
    wide, count = dy.double(), x.numel() // x.shape[1]
    shift = wide.sum(dims, keepdim=True)
    slope = (wide * normal).sum(dims, keepdim=True)
    scale = rstd if weight is None else rstd * per_channel(weight, x)
    dx = scale * (wide - shift / count - normal * slope / count)
    return dx, slope.flatten(), shift.flatten()


def relative(output, reference):
    """Return the norm of the difference over the norm of the reference."""
    return ((output.double() - reference).norm() / (reference.norm() + 1e-30)).item()


def assert_close(output, reference, *, bound=None):
    """Compare the whole output by norm, and every element by tolerance unless *bound* is given."""
    limit = RELATIVE[output.dtype] if bound is None else bound
    found = relative(output, reference)
    assert found <= limit, f"{found:.3e} > {limit}"
    if bound is None:
        rtol, atol = ELEMENTWISE[output.dtype]
        worst = ((output.double() - reference).abs() - rtol * reference.abs()).max().item()
        assert worst <= atol, f"an element is off by {worst:.3e} beyond rtol {rtol}"
