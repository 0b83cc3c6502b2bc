"""FusedAddLayerNormFwdOp: a residual sum and its layer normalization."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch.autograd import forward_ad

from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.call_spec import FusedAddLayerNormFwdInterface, LayerNormCall
from tileops.kernels.norm.fused_add_layer_norm import FusedAddLayerNormKernel
from tileops.ops._recognise import modes
from tileops.ops.op import Op, Request

__all__ = ["FusedAddLayerNormFwdOp"]


class FusedAddLayerNormFwdOp(Op):
    """A residual sum and its layer normalization over the last dim.

    The norm is that of the sum rounded to the dtype, as ``F.layer_norm(x + residual, ...)`` in
    torch.
    """

    kernel_types: ClassVar[Mapping[str, type[Kernel]]] = {
        "fused_add_layer_norm": FusedAddLayerNormKernel
    }
    interfaces: ClassVar[Mapping[str, type[KernelInterface]]] = {
        "fused_add_layer_norm": FusedAddLayerNormFwdInterface
    }

    def __init__(self, eps: float = 1e-5, *, target: str | None = None) -> None:
        """Normalize over the last dim.

        Args:
            eps: Added to the variance.
            target: The target to run on; see `Op`.
        """
        super().__init__(target=target, eps=eps)
        self.eps: float = self.params["eps"]

    def __call__(
        self, x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add *residual* to *x* and normalize the sum; nothing is written in place.

        Args:
            x: Shape ``(*B, N)``, float16, bfloat16 or float32.
            residual: Shaped like *x*, in its dtype.
            weight: Scale of shape ``(N,)`` in the dtype of *x*.
            bias: Shift of shape ``(N,)`` in the dtype of *x*.

        Returns:
            The normalized sum, and the sum: two new tensors like *x*.

        Raises:
            SignatureError: A tensor does not fit.
            SelectionError: No kernel is selected.
        """
        recognise, run = self._recent
        result: tuple[torch.Tensor, torch.Tensor] = (
            run(x, residual, weight, bias)
            if recognise(x, residual, weight, bias)
            and not modes()
            and forward_ad._current_level < 0
            else self._call((x, residual, weight, bias))
        )
        return result

    def requests(self, *inputs: Any) -> tuple[Request, ...]:
        """Ask for one kernel by width, epsilon and dtype."""
        x = inputs[0]
        call = LayerNormCall(device=x.device, n=x.shape[-1], eps=self.eps, dtype=x.dtype)
        return (("fused_add_layer_norm", call),)
