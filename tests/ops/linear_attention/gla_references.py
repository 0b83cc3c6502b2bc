"""Float64 references of gated linear attention, inputs, and comparison."""

from __future__ import annotations

import torch

OUTPUT = {torch.float16: 2e-3, torch.bfloat16: 8e-3}
"""The largest norm of an output's difference over the norm of the reference."""

STATE = 1e-3
"""The same of a final state, where products of 16-bit numbers were added up."""

ONE_STEP = 1e-5
"""The same of a final state after one step."""


def step_by_step(q, k, v, g, scale, state=None):
    """Follow the definition, one step after the other, in float64."""
    q, k, v, g = (one.double() for one in (q, k, v, g))
    batch, steps, heads, dim_k = q.shape
    if state is None:
        state = q.new_zeros(batch, heads, dim_k, v.shape[3])
    state = state.double()
    outputs = v.new_zeros(v.shape)
    for t in range(steps):
        written = k[:, t, :, :, None] * v[:, t, :, None, :]
        state = g[:, t, :, :, None].exp() * state + written
        outputs[:, t] = scale * torch.einsum("bhk,bhkv->bhv", q[:, t], state)
    return outputs, state


def by_chunks(q, k, v, g, scale, state=None, chunk=64):
    """Do the same by matrix products of *chunk* steps; float64 has room for their decays."""
    q, k, v, g = (one.double().transpose(1, 2) for one in (q, k, v, g))
    batch, heads, steps, dim_k = q.shape
    if state is None:
        state = q.new_zeros(batch, heads, dim_k, v.shape[3])
    state = state.double()
    outputs = torch.empty_like(v)
    for first in range(0, steps, chunk):
        part = slice(first, first + chunk)
        decay = g[:, :, part].cumsum(2)
        reading = q[:, :, part] * decay.exp()
        scores = (reading @ (k[:, :, part] * (-decay).exp()).transpose(2, 3)).tril()
        outputs[:, :, part] = scale * (reading @ state + scores @ v[:, :, part])
        left = decay[:, :, -1:]
        state = left.exp().transpose(2, 3) * state
        state = state + (k[:, :, part] * (left - decay).exp()).transpose(2, 3) @ v[:, :, part]
    return outputs.transpose(1, 2), state


def inputs(shape, dtype, *, device="cuda", gates="model", magnitude=1.0, seed=0, state=True):
    """Return q, k, v, g and an initial state, or None, of ``(B, T, H, K, V)``.

    *gates* are "model", logarithms of sigmoids divided by 16, or a number for all of them.
    """
    batch, steps, heads, dim_k, dim_v = shape
    generator = torch.Generator(device).manual_seed(seed)

    def normal(*sizes):
        return torch.randn(sizes, generator=generator, device=device, dtype=torch.float32)

    q, k, g = (normal(batch, steps, heads, dim_k) for _ in range(3))
    v = normal(batch, steps, heads, dim_v)
    if gates == "model":
        g = torch.nn.functional.logsigmoid(g) / 16
    else:
        g.fill_(gates)
    initial = normal(batch, heads, dim_k, dim_v) if state else None
    q, k = q * magnitude, k * magnitude
    return q.to(dtype), k.to(dtype), v.to(dtype), g.to(dtype), initial


def assert_near(found, expected, bound):
    """Compare by norm; a reference of zeros leaves nothing."""
    assert found.shape == expected.shape
    difference, norm = (found.double() - expected).norm(), expected.norm()
    assert difference <= bound * norm + 1e-30, f"{difference / norm:.3e} > {bound}"
