"""LayerNormKernel: one program per width, epsilon and dtype, for any number of rows."""

from __future__ import annotations

import torch

from tileops.device import current_facts
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
        y = torch.empty_like(x)
        self._launch(x.data_ptr(), weight, bias, y.data_ptr(), x.numel() // self._n)
        return y
