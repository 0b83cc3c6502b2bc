"""A backend's implementation that overlaps the in-tree kernel and states no precedence."""

from __future__ import annotations

import torch

from tileops.backend import Kernel, register_kernel_type
from tileops.kernels.norm.call_spec import LayerNormFwdInterface


class RivalKernel(Kernel, LayerNormFwdInterface):
    """Serves everything, like the in-tree kernel."""

    def forward(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.layer_norm(x, weight.shape, weight, bias)


# fmt: off
register_kernel_type(  # tileops: ignore[undeclared-overlap] -- the overlap is what is tested
    "LayerNormFwdOp", "acme_rival", RivalKernel
)
