"""RMSNormKernel: root mean square normalization for every width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import DeviceFacts
from tileops.kernels.alignment import MISALIGNED, aligned, any_address
from tileops.kernels.norm.call_spec import RMSNormFwdInterface
from tileops.kernels.norm.row_norm import RowNormKernel

__all__ = ["RMSNormKernel"]


class RMSNormKernel(RowNormKernel, RMSNormFwdInterface):
    """Root mean square normalization for every width."""

    @staticmethod
    def build(n: int, eps: float, dtype: torch.dtype, facts: DeviceFacts) -> Callable[..., Any]:
        """Compile the program for rows of *n* elements."""
        from tileops.kernels.norm.programs.rms_norm import build

        launch: Callable[..., Any] = build(n, eps, dtype, facts)
        return launch

    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Normalize each run of ``n`` trailing elements of *x* into a new tensor."""
        run: Callable[..., torch.Tensor] = self.bind(x, weight)
        return run(x, weight)

    def bind(self, x: torch.Tensor, weight: torch.Tensor) -> Callable[..., Any]:
        """Count the rows once; the rest of a call is the allocation and the launch."""
        rows, empty_like = x.numel() // self._n, torch.empty_like

        @any_address
        def run(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
            source = x.data_ptr()
            if (source | weight.data_ptr()) & MISALIGNED:
                return self.forward(aligned(x), aligned(weight))
            y = empty_like(x)
            self._launch(source, weight, y.data_ptr(), rows)
            return y

        return run
