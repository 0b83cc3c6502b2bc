"""GLAKernel: the widths that the kernels of gated linear attention serve."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tileops.kernels.kernel import Kernel
from tileops.kernels.linear_attention.call_spec import GLACall

__all__ = ["WIDTHS", "GLAKernel"]

WIDTHS = (32, 64, 128, 256)
"""Widths of keys and of values that the programs are laid out for."""


class GLAKernel(Kernel):
    """A kernel of gated linear attention, built for its widths and any other size."""

    supported_archs: list[int] = [80, 86, 89, 90]

    @classmethod
    def refusal(cls, call: GLACall) -> str | None:
        """Serve the widths that the programs are laid out for."""
        if call.dim_k not in WIDTHS:
            return f"serves dim_k 32, 64, 128 or 256, got {call.dim_k}"
        if call.dim_v not in WIDTHS:
            return f"serves dim_v 32, 64, 128 or 256, got {call.dim_v}"
        return super().refusal(call)

    def forward(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        g: torch.Tensor,
        initial_state: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Carry the state through every step and read it."""
        run: Callable[..., tuple[torch.Tensor, torch.Tensor]] = self.bind(q, k, v, g, initial_state)
        return run(q, k, v, g, initial_state)
