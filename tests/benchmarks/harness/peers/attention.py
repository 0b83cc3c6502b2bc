"""Peers of attention: scaled dot product attention of torch with each of its backends."""

from __future__ import annotations

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from harness.inputs import Inputs
from harness.peers import Builder, Family, Function, Params

__all__ = ["FAMILY"]

BACKENDS = {
    "sdpa-flash": SDPBackend.FLASH_ATTENTION,
    "sdpa-cudnn": SDPBackend.CUDNN_ATTENTION,
    "sdpa-efficient": SDPBackend.EFFICIENT_ATTENTION,
    "sdpa-math": SDPBackend.MATH,
}


def attention(params: Params, inputs: Inputs) -> Function:
    """Return attention over (batch, length, heads, dim) tensors with torch's own choice."""
    if params.get("softcap"):
        raise NotImplementedError("it knows no softcap")
    if any(one is not None for one in inputs[3:]):
        raise NotImplementedError("it takes no descaling factors")
    q, k = inputs[0], inputs[1]
    assert q is not None
    assert k is not None
    if params.get("is_causal") and q.shape[1] not in (1, k.shape[1]):
        raise NotImplementedError("its causal mask is aligned to the first key")
    causal = bool(params.get("is_causal")) and q.shape[1] > 1
    grouped, scale = q.shape[2] != k.shape[2], params.get("sm_scale")

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *scales: None) -> torch.Tensor:
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        o = scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=grouped)
        return o.transpose(1, 2)

    return run


def _with(backend: SDPBackend) -> Builder:
    def build(params: Params, inputs: Inputs) -> Function:
        chosen = attention(params, inputs)

        def run(*given: torch.Tensor | None) -> torch.Tensor:
            with sdpa_kernel(backend):
                result: torch.Tensor = chosen(*given)
            return result

        return run

    return build


FAMILY = Family(
    others={
        "GQADenseFwdOp": {
            "torch": attention,
            **{name: _with(backend) for name, backend in BACKENDS.items()},
        }
    },
    # A sequence that is decoded is longer by one at every step.
    grows={"GQADenseFwdOp": "Skv"},
)
