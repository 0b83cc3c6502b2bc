"""FusedAddLayerNormKernel: a sum and its layer normalization in one pass over the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import DeviceFacts
from tileops.kernels.alignment import MISALIGNED, aligned, any_address
from tileops.kernels.norm.call_spec import FusedAddLayerNormFwdInterface
from tileops.kernels.norm.row_norm import RowNormKernel

__all__ = ["FusedAddLayerNormKernel"]


class FusedAddLayerNormKernel(RowNormKernel, FusedAddLayerNormFwdInterface):
    """A sum and its layer normalization in one pass over the data."""

    @staticmethod
    def build(n: int, eps: float, dtype: torch.dtype, facts: DeviceFacts) -> Callable[..., Any]:
        """Compile the program for rows of *n* elements."""
        from tileops.kernels.norm.programs.fused_add_layer_norm import build

        launch: Callable[..., Any] = build(n, eps, dtype, facts)
        return launch

    def forward(
        self, x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add, then normalize the rounded sum; both are new tensors."""
        run: Callable[..., tuple[torch.Tensor, torch.Tensor]] = self.bind(x, residual, weight, bias)
        return run(x, residual, weight, bias)

    def bind(
        self, x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
    ) -> Callable[..., Any]:
        """Count the rows once; the rest of a call is the allocation and the launch."""
        rows, empty_like = x.numel() // self._n, torch.empty_like

        @any_address
        def run(
            x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
        ) -> tuple[torch.Tensor, torch.Tensor]:
            source, addend = x.data_ptr(), residual.data_ptr()
            if (source | addend | weight.data_ptr() | bias.data_ptr()) & MISALIGNED:
                return self.forward(aligned(x), aligned(residual), aligned(weight), aligned(bias))
            y, total = empty_like(x), empty_like(x)
            self._launch(source, addend, weight, bias, y.data_ptr(), total.data_ptr(), rows)
            return y, total

        return run
