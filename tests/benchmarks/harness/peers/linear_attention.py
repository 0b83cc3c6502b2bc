"""Peers of gated linear attention: flash-linear-attention where it is installed."""

from __future__ import annotations

import torch

from harness.inputs import Inputs
from harness.peers import Family, Function, Params

__all__ = ["FAMILY"]


def chunked(params: Params, inputs: Inputs) -> Function:
    """Return fla's chunked form, meant for long sequences."""
    from fla.ops.gla import chunk_gla  # type: ignore[import-not-found]

    scale = params.get("scale")
    return lambda q, k, v, g, state=None: chunk_gla(
        q, k, v, g, scale=scale, initial_state=state, output_final_state=True
    )


def recurrent(params: Params, inputs: Inputs) -> Function:
    """Return fla's recurrent form, meant for decoding."""
    from fla.ops.gla import fused_recurrent_gla

    scale = params.get("scale")
    return lambda q, k, v, g, state=None: fused_recurrent_gla(
        q, k, v, gk=g, scale=scale, initial_state=state, output_final_state=True
    )


def log_gate(tensor: torch.Tensor, generator: torch.Generator) -> None:
    """Fill with logarithms of gates near one, divided by 16 as models do."""
    tensor.normal_(generator=generator)
    tensor.copy_(torch.nn.functional.logsigmoid(tensor) / 16)


FAMILY = Family(
    others={"GLAFwdOp": {"fla-chunk": chunked, "fla-recurrent": recurrent}},
    fills={"g": log_gate},
)
