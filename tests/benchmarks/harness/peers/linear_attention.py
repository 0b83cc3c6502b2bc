"""Peers of gated linear attention: flash-linear-attention where it is installed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import torch

from harness.inputs import Inputs
from harness.peers import Family, Function, Params
from tileops.tensor_spec import TensorSpec

__all__ = ["FAMILY"]


def chunked(params: Params, inputs: Inputs) -> Function:
    """Return fla's chunked form, meant for long sequences."""
    from fla.ops.gla import chunk_gla  # type: ignore[import-not-found]

    if steps(inputs) == 1:
        raise NotImplementedError("it is meant for more than one step")
    scale = params.get("scale")
    return lambda q, k, v, g, state=None: chunk_gla(
        q, k, v, g, scale=scale, initial_state=state, output_final_state=True
    )


def recurrent(params: Params, inputs: Inputs) -> Function:
    """Return fla's recurrent form, meant for decoding."""
    from fla.ops.gla import fused_recurrent_gla

    if steps(inputs) > 1:
        raise NotImplementedError("it is meant for decoding, and walks step by step")
    scale = params.get("scale")
    return lambda q, k, v, g, state=None: fused_recurrent_gla(
        q, k, v, gk=g, scale=scale, initial_state=state, output_final_state=True
    )


def steps(inputs: Inputs) -> int:
    """Return the steps of a case."""
    q = inputs[0]
    assert q is not None
    return q.shape[1]


def compiled_for(inputs: Sequence[TensorSpec | None]) -> Hashable | None:
    """Return what the chunked form is compiled for: heads, widths, dtype, a state; no lengths."""
    q, _, v, _, *state = inputs
    assert q is not None
    assert v is not None
    if q.shape[1] == 1:
        return None
    return q.shape[2:], v.shape[3], q.dtype, state != [] and state[0] is not None


def log_gate(tensor: torch.Tensor, generator: torch.Generator) -> None:
    """Fill with logarithms of gates near one, divided by 16 as models do."""
    tensor.normal_(generator=generator)
    tensor.copy_(torch.nn.functional.logsigmoid(tensor) / 16)


FAMILY = Family(
    others={"GLAFwdOp": {"fla-chunk": chunked, "fla-recurrent": recurrent}},
    fills={"g": log_gate},
    tuned={"fla-chunk": compiled_for},
)
