"""Float64 references of the row norms, written from their definitions, inputs, and comparison."""

from __future__ import annotations

import torch

RELATIVE = {torch.float16: 5e-4, torch.bfloat16: 4e-3, torch.float32: 1e-6}
"""The largest norm of the difference over the norm of the reference."""

ELEMENTWISE = {
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1e-2),
    torch.float32: (2e-5, 2e-5),
}
"""rtol and atol of every element."""


def tensors(shape, dtype, count=1, vectors=0, seed=0):
    """Return random inputs shaped *shape*, then random vectors of its last dim."""
    generator = torch.Generator("cuda").manual_seed(seed)
    whole = [
        torch.randn(shape, generator=generator, device="cuda", dtype=torch.float32).to(dtype)
        for _ in range(count)
    ]
    rows = [
        torch.randn(shape[-1:], generator=generator, device="cuda", dtype=torch.float32).to(dtype)
        for _ in range(vectors)
    ]
    return [*whole, *rows]


def layer_norm(x, weight, bias, eps):
    """Normalize rows by mean and biased variance."""
    wide = x.double()
    centred = wide - wide.mean(-1, keepdim=True)
    normal = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    return normal * weight.double() + bias.double()


def rms_norm(x, weight, eps):
    """Divide rows by the root of their mean square."""
    wide = x.double()
    return wide / (wide.square().mean(-1, keepdim=True) + eps).sqrt() * weight.double()


def ada_layer_norm(x, scale, shift, eps):
    """Normalize rows without parameters, then scale and shift every element."""
    return layer_norm(x, scale, shift, eps)


def ada_layer_norm_zero(x, scale, shift, gate, eps):
    """Gate the adaptive layer normalization."""
    return gate.double() * layer_norm(x, scale, shift, eps)


def assert_close(output, reference, *, relative=None):
    """Compare the whole output by norm and every element by tolerance."""
    dtype = output.dtype
    rtol, atol = ELEMENTWISE[dtype]
    difference = output.double() - reference
    norm = reference.norm()
    bound = RELATIVE[dtype] if relative is None else relative
    assert difference.norm() <= bound * norm + 1e-30, f"{difference.norm() / norm:.3e} > {bound}"
    worst = (difference.abs() - rtol * reference.abs()).max().item()
    assert worst <= atol, f"an element is off by {worst:.3e} beyond rtol {rtol}"
