"""A backend's implementation of an in-tree interface, for short rows; it prints as it goes."""

from __future__ import annotations

import torch

from tileops.backend import Kernel, register_kernel_type
from tileops.kernels.norm.call_spec import LayerNormCall, LayerNormFwdInterface

print("acme: importing")


class ShortRowsKernel(Kernel, LayerNormFwdInterface):
    """Wins over the in-tree kernel up to 256 elements a row."""

    preferred_over = frozenset({"layer_norm"})

    @classmethod
    def refusal(cls, call: LayerNormCall) -> str | None:
        print("acme: judging")  # tileops: ignore[refusal-side-effect] -- must not reach stdout
        if call.n > 256:
            return f"serves rows of at most 256, got {call.n}"
        return super().refusal(call)

    def forward(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.layer_norm(x, weight.shape, weight, bias)


register_kernel_type("LayerNormFwdOp", "acme_short_rows", ShortRowsKernel)
