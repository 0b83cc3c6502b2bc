"""Float64 reference of attention, written from its definition, inputs, and comparison."""

from __future__ import annotations

import torch

RELATIVE = {torch.float16: 2e-3, torch.bfloat16: 8e-3}
"""The largest norm of the difference over the norm of the reference."""


def attention(q, k, v, scale=None, softcap=0.0, causal=False):
    """Attend as ``(batch, length, heads, dim)`` tensors are defined, in float64.

    The last query stands at the last key. Sequences are taken one by one, for the memory's sake.
    """
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    parts = zip(q, k, v, strict=True)
    return torch.stack([_sequence(*one, scale, softcap, causal) for one in parts])


def _sequence(q, k, v, scale, softcap, causal):
    (queries, heads, dim), (keys, heads_kv, _) = q.shape, k.shape
    k, v = (one.double().transpose(0, 1) for one in (k, v))
    # Rows of a key head are its query heads, each with all of its queries.
    rows = q.double().transpose(0, 1).reshape(heads_kv, -1, dim)
    scores = rows @ k.transpose(1, 2) * scale
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if causal:
        position = torch.arange(queries, device=q.device)[:, None] + keys - queries
        hidden = torch.arange(keys, device=q.device)[None, :] > position
        scores = scores.masked_fill(hidden.repeat(heads // heads_kv, 1), -torch.inf)
    return (scores.softmax(-1) @ v).reshape(heads, queries, dim).transpose(0, 1)


def scaled(x, scale, heads):
    """Return fp8 data in float64, times the factors of its batch and key head."""
    factors = scale.double().repeat_interleave(heads // scale.shape[1], 1)
    return x.double() * factors[:, None, :, None]


def inputs(batch, seqlen_q, seqlen_kv, heads, heads_kv, dim, dtype, device="cuda", seed=0):
    """Return random queries, keys and values."""
    generator = torch.Generator(device).manual_seed(seed)
    shapes = [(batch, seqlen_q, heads, dim)] + [(batch, seqlen_kv, heads_kv, dim)] * 2
    return [
        torch.randn(shape, generator=generator, device=device, dtype=torch.float32).to(dtype)
        for shape in shapes
    ]


def assert_close(output, reference, *, relative=None):
    """Compare the whole output by norm, and every element by a bound for outliers."""
    bound = RELATIVE[output.dtype] if relative is None else relative
    difference = output.double() - reference
    norm = reference.norm()
    assert difference.norm() <= bound * norm + 1e-30, f"{difference.norm() / norm:.3e} > {bound}"
    worst = (difference.abs() / (reference.abs() + norm / reference.numel() ** 0.5)).max().item()
    assert worst <= 16 * bound, f"an element is off by {worst:.3e} of the usual size"
