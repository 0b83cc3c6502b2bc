"""AdaLayerNormZeroKernel: adaptive layer normalization with a gate for every element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import DeviceFacts, allocated_apart
from tileops.kernels.alignment import MISALIGNED, aligned, any_address
from tileops.kernels.norm.call_spec import AdaLayerNormZeroFwdInterface
from tileops.kernels.norm.row_norm import RowNormKernel

__all__ = ["AdaLayerNormZeroKernel"]


class AdaLayerNormZeroKernel(RowNormKernel, AdaLayerNormZeroFwdInterface):
    """Adaptive layer normalization with a gate for every element."""

    def __init__(self, n: int, eps: float, dtype: torch.dtype) -> None:
        """Compile the program for rows of *n* elements on the current device."""
        super().__init__(n, eps, dtype)
        # The launch takes every other tensor by its address; this one says where to launch.
        device = torch.device("cuda", torch.cuda.current_device())
        self._anchor = allocated_apart(lambda: torch.empty(1, dtype=dtype, device=device))

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
        run: Callable[..., torch.Tensor] = self.bind(x, scale, shift, gate)
        return run(x, scale, shift, gate)

    def bind(
        self, x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor, gate: torch.Tensor
    ) -> Callable[..., Any]:
        """Count the rows once; the rest of a call is the allocation and the launch."""
        rows, empty_like = x.numel() // self._n, torch.empty_like

        @any_address
        def run(
            x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor, gate: torch.Tensor
        ) -> torch.Tensor:
            source, factor, offset = x.data_ptr(), scale.data_ptr(), shift.data_ptr()
            gating = gate.data_ptr()
            if (source | factor | offset | gating) & MISALIGNED:
                return self.forward(aligned(x), aligned(scale), aligned(shift), aligned(gate))
            y = empty_like(x)
            self._launch(self._anchor, source, factor, offset, gating, y.data_ptr(), rows)
            return y

        return run
