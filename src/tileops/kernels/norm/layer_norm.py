"""LayerNormKernel: one program per width, epsilon and dtype, for any number of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import current_facts
from tileops.kernels.alignment import MISALIGNED, aligned, any_address
from tileops.kernels.kernel import Entry, Kernel
from tileops.kernels.norm.call_spec import LayerNormCall, LayerNormFwdInterface

__all__ = ["LayerNormKernel"]


class LayerNormKernel(Kernel, LayerNormFwdInterface):
    """Layer normalization for every width.

    A row that fits the registers of a block is read once; a wider one is read again. The
    statistics are taken in float32 as a mean and the sum of squared deviations from it, merged
    pairwise (Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing
    sample variances", 1979), so a large mean costs no accuracy.
    """

    supported_archs: list[int] = [80, 86, 89, 90]

    @classmethod
    def entry_for(cls, call: LayerNormCall) -> Entry:
        """Identify the build by width, epsilon and dtype."""
        identity = (call.n, call.eps, call.dtype)
        return identity, lambda: cls(*identity)

    def __init__(self, n: int, eps: float, dtype: torch.dtype) -> None:
        """Compile the program for rows of *n* elements on the current device."""
        super().__init__()
        from tileops.kernels.norm.programs.layer_norm import build

        self._n = n
        self._launch = build(n, eps, dtype, current_facts())

    def forward(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """Normalize each run of ``n`` trailing elements of *x* into a new tensor."""
        run: Callable[..., torch.Tensor] = self.bind(x, weight, bias)
        return run(x, weight, bias)

    def bind(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> Callable[..., Any]:
        """Count the rows once; the rest of a call is the allocation and the launch."""
        rows, empty_like = x.numel() // self._n, torch.empty_like

        @any_address
        def run(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
            source = x.data_ptr()
            if (source | weight.data_ptr() | bias.data_ptr()) & MISALIGNED:
                return self.forward(aligned(x), aligned(weight), aligned(bias))
            y = empty_like(x)
            self._launch(source, weight, bias, y.data_ptr(), rows)
            return y

        return run
