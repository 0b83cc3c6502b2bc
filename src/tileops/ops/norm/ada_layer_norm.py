"""AdaLayerNormFwdOp: layer normalization with a scale and a shift for every element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch.autograd import forward_ad

from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.ada_layer_norm import AdaLayerNormKernel
from tileops.kernels.norm.call_spec import AdaLayerNormFwdInterface, LayerNormCall
from tileops.ops._recognise import modes
from tileops.ops.op import Op, Request

__all__ = ["AdaLayerNormFwdOp"]


class AdaLayerNormFwdOp(Op):
    """Layer normalization over the last dim with a scale and a shift for every element.

    The scale multiplies as it is: a model that predicts a deviation from one adds the one.
    Nothing broadcasts.
    """

    kernel_types: ClassVar[Mapping[str, type[Kernel]]] = {"ada_layer_norm": AdaLayerNormKernel}
    interfaces: ClassVar[Mapping[str, type[KernelInterface]]] = {
        "ada_layer_norm": AdaLayerNormFwdInterface
    }

    def __init__(self, eps: float = 1e-5, *, target: str | None = None) -> None:
        """Normalize over the last dim.

        Args:
            eps: Added to the variance.
            target: The target to run on; see `Op`.
        """
        super().__init__(target=target, eps=eps)
        self.eps: float = self.params["eps"]

    def __call__(self, x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        """Return ``scale * layer_norm(x) + shift``; nothing is written in place.

        Args:
            x: Shape ``(*B, N)``, float16, bfloat16 or float32.
            scale: Shaped like *x*, in its dtype.
            shift: Shaped like *x*, in its dtype.

        Returns:
            A new tensor like *x*.

        Raises:
            SignatureError: A tensor does not fit.
            SelectionError: No kernel is selected.
        """
        recognise, run = self._recent
        result: torch.Tensor = (
            run(x, scale, shift)
            if recognise(x, scale, shift) and not modes() and forward_ad._current_level < 0
            else self._call((x, scale, shift))
        )
        return result

    def requests(self, *inputs: Any) -> tuple[Request, ...]:
        """Ask for one kernel by width, epsilon and dtype."""
        x = inputs[0]
        call = LayerNormCall(device=x.device, n=x.shape[-1], eps=self.eps, dtype=x.dtype)
        return (("ada_layer_norm", call),)
