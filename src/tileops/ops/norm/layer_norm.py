"""LayerNormFwdOp: layer normalization over the trailing dims."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch.autograd import forward_ad

from tileops.kernels.alignment import like
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.call_spec import LayerNormCall, LayerNormFwdInterface
from tileops.kernels.norm.layer_norm import LayerNormKernel
from tileops.ops._filled import FILLED
from tileops.ops._recognise import modes
from tileops.ops.norm._rows import rows_of
from tileops.ops.op import Op, Request

__all__ = ["LayerNormFwdOp"]


class LayerNormFwdOp(Op):
    """Layer normalization with the semantics of ``torch.nn.functional.layer_norm``."""

    kernel_types: ClassVar[Mapping[str, type[Kernel]]] = {"layer_norm": LayerNormKernel}
    interfaces: ClassVar[Mapping[str, type[KernelInterface]]] = {
        "layer_norm": LayerNormFwdInterface
    }

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5, *, target: str | None = None
    ) -> None:
        """Normalize over dims of *normalized_shape*.

        Args:
            normalized_shape: The trailing dims to normalize over; an int means one dim.
            eps: Added to the variance.
            target: The target to run on; see `Op`.
        """
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        super().__init__(target=target, normalized_shape=shape, eps=eps)
        self.normalized_shape: tuple[int, ...] = self.params["normalized_shape"]
        self.eps: float = self.params["eps"]

    def __call__(
        self,
        input: torch.Tensor,
        weight: torch.Tensor | None = None,
        bias: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Normalize *input*; nothing is written in place.

        Args:
            input: Shape ``(*B, *normalized_shape)``, float16, bfloat16 or float32.
            weight: Scale of shape ``normalized_shape`` in the input's dtype; None means ones.
            bias: Shift of shape ``normalized_shape`` in the input's dtype; None means zeros.

        Returns:
            A new tensor like *input*, contiguous.

        Raises:
            SignatureError: A tensor does not fit.
            SelectionError: No kernel is selected.
        """
        recognise, run = self._recent
        result: torch.Tensor = (
            run(input, weight, bias)
            if recognise(input, weight, bias) and not modes() and forward_ad._current_level < 0
            else self._call((input, weight, bias))
        )
        return result

    def requests(self, *inputs: Any) -> tuple[Request, ...]:
        """Ask for one kernel by width, epsilon and dtype."""
        call = LayerNormCall(
            device=inputs[0].device,
            n=math.prod(self.normalized_shape),
            eps=self.eps,
            dtype=inputs[0].dtype,
        )
        return (("layer_norm", call),)

    def bind(self, kernels: tuple[Kernel, ...], *inputs: torch.Tensor | None) -> Callable[..., Any]:
        """Pass ones and zeros for a weight and a bias that are absent, and rows of one dim."""
        (kernel,) = kernels
        input, weight, bias = inputs
        assert input is not None
        if weight is not None and bias is not None:
            return rows_of(kernel, self.normalized_shape, input, weight, bias)
        ones, zeros = (
            FILLED.of(value, self.normalized_shape, input.dtype, input.device)
            for value in (1.0, 0.0)
        )
        run = rows_of(kernel, self.normalized_shape, input, ones, zeros)
        if weight is None and bias is None:
            return like(run, lambda input, weight, bias: run(input, ones, zeros))
        if weight is None:
            return like(run, lambda input, weight, bias: run(input, ones, bias))
        return like(run, lambda input, weight, bias: run(input, weight, zeros))
