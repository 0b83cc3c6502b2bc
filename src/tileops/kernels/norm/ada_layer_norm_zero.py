"""AdaLayerNormZeroKernel: adaptive layer normalization with a gate for every element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import DeviceFacts
from tileops.kernels.norm.call_spec import AdaLayerNormZeroFwdInterface
from tileops.kernels.norm.row_norm import RowNormKernel

__all__ = ["AdaLayerNormZeroKernel"]


class AdaLayerNormZeroKernel(RowNormKernel, AdaLayerNormZeroFwdInterface):
    """Adaptive layer normalization with a gate for every element."""

    def __init__(self, n: int, eps: float, dtype: torch.dtype) -> None:
        """Compile the program for rows of *n* elements on the current device."""
        super().__init__(n, eps, dtype)
        # The launch takes every other tensor by its address; this one says where to launch.
        self._anchor = torch.empty(1, dtype=dtype, device="cuda")

    @staticmethod
    def build(n: int, eps: float, dtype: torch.dtype, facts: DeviceFacts) -> Callable[..., Any]:
        """Compile the program for rows of *n* elements."""
        from tileops.kernels.norm.programs.ada_layer_norm_zero import build

        launch: Callable[..., Any] = build(n, eps, dtype, facts)
        return launch

    def forward(
        self, x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor, gate: torch.Tensor
    ) -> torch.Tensor:
        """Normalize, scale, shift and gate each row of *x* into a new tensor."""
        y = torch.empty_like(x)
        self._launch(
            self._anchor,
            x.data_ptr(),
            scale.data_ptr(),
            shift.data_ptr(),
            gate.data_ptr(),
            y.data_ptr(),
            x.numel() // self._n,
        )
        return y
