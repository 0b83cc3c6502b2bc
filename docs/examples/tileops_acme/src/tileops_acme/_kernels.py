"""An implementation of a kernel interface, written from the interface's docstring alone."""

from __future__ import annotations

import torch

from tileops.backend import Entry, Kernel
from tileops.kernels.norm.call_spec import LayerNormCall, LayerNormFwdInterface

LONGEST_ROW = 256


class ShortRowsLayerNorm(Kernel, LayerNormFwdInterface):
    """Layer normalization of rows of at most 256 elements on the CPU."""

    devices = frozenset({"cpu"})

    @classmethod
    def refusal(cls, call: LayerNormCall) -> str | None:
        """Serve short rows only."""
        if call.n > LONGEST_ROW:
            return f"serves rows of at most {LONGEST_ROW} elements, got {call.n}"
        return super().refusal(call)

    @classmethod
    def entry_for(cls, call: LayerNormCall) -> Entry:
        """Identify the build by the facts the constructor takes."""
        identity = (call.n, call.eps)
        return identity, lambda: cls(*identity)

    def __init__(self, n: int, eps: float) -> None:
        """Keep what every launch needs."""
        super().__init__()
        self.n = n
        self.eps = eps

    def forward(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """Normalize in float32 and round once."""
        rows = x.view(-1, self.n)
        scale, shift = weight.view(-1).float(), bias.view(-1).float()
        y = torch.nn.functional.layer_norm(rows.float(), (self.n,), scale, shift, self.eps)
        return y.to(x.dtype).view(x.shape)
