"""FusedAddLayerNormKernel: a sum and its layer normalization in one pass over the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import DeviceFacts
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
        y, total = torch.empty_like(x), torch.empty_like(x)
        self._launch(
            x.data_ptr(),
            residual.data_ptr(),
            weight,
            bias,
            y.data_ptr(),
            total.data_ptr(),
            x.numel() // self._n,
        )
        return y, total
