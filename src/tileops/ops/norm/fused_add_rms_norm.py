"""FusedAddRMSNormFwdOp: a residual sum and its root mean square normalization."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch.autograd import forward_ad

from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.call_spec import FusedAddRMSNormFwdInterface, LayerNormCall
from tileops.kernels.norm.fused_add_rms_norm import FusedAddRMSNormKernel
from tileops.ops._recognise import modes
from tileops.ops.op import Op, Request

__all__ = ["FusedAddRMSNormFwdOp"]


class FusedAddRMSNormFwdOp(Op):
    """A residual sum and its root mean square normalization over the last dim.

    The norm is that of the sum rounded to the dtype, as ``F.rms_norm(x + residual, ...)`` in
    torch.
    """

    kernel_types: ClassVar[Mapping[str, type[Kernel]]] = {
        "fused_add_rms_norm": FusedAddRMSNormKernel
    }
    interfaces: ClassVar[Mapping[str, type[KernelInterface]]] = {
        "fused_add_rms_norm": FusedAddRMSNormFwdInterface
    }

    def __init__(self, eps: float = 1e-6, *, target: str | None = None) -> None:
        """Normalize over the last dim.

        Args:
            eps: Added to the mean of the squares.
            target: The target to run on; see `Op`.
        """
        super().__init__(target=target, eps=eps)
        self.eps: float = self.params["eps"]

    def __call__(
        self, x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add *residual* to *x* and normalize the sum; nothing is written in place.

        Args:
            x: Shape ``(*B, N)``, float16, bfloat16 or float32.
            residual: Shaped like *x*, in its dtype.
            weight: Scale of shape ``(N,)`` in the dtype of *x*.

        Returns:
            The normalized sum, and the sum: two new tensors like *x*.

        Raises:
            SignatureError: A tensor does not fit.
            SelectionError: No kernel is selected.
        """
        recognise, run = self._recent
        result: tuple[torch.Tensor, torch.Tensor] = (
            run(x, residual, weight)
            if recognise(x, residual, weight) and not modes() and forward_ad._current_level < 0
            else self._call((x, residual, weight))
        )
        return result

    def requests(self, *inputs: Any) -> tuple[Request, ...]:
        """Ask for one kernel by width, epsilon and dtype."""
        x = inputs[0]
        call = LayerNormCall(device=x.device, n=x.shape[-1], eps=self.eps, dtype=x.dtype)
        return (("fused_add_rms_norm", call),)
