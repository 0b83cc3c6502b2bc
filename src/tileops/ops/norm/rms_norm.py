"""RMSNormFwdOp: root mean square normalization over the trailing dims."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch.autograd import forward_ad

from tileops.kernels.alignment import like
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.call_spec import LayerNormCall, RMSNormFwdInterface
from tileops.kernels.norm.rms_norm import RMSNormKernel
from tileops.ops._filled import FILLED
from tileops.ops._recognise import modes
from tileops.ops.norm._rows import rows_of
from tileops.ops.op import Op, Request

__all__ = ["RMSNormFwdOp"]


class RMSNormFwdOp(Op):
    """Root mean square normalization with the semantics of ``torch.nn.functional.rms_norm``."""

    kernel_types: ClassVar[Mapping[str, type[Kernel]]] = {"rms_norm": RMSNormKernel}
    interfaces: ClassVar[Mapping[str, type[KernelInterface]]] = {"rms_norm": RMSNormFwdInterface}

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        *,
        target: str | None = None,
    ) -> None:
        """Normalize over dims of *normalized_shape*.

        Args:
            normalized_shape: The trailing dims to normalize over; an int means one dim.
            eps: Added to the mean of the squares; None means the machine epsilon of the input's
                dtype.
            target: The target to run on; see `Op`.
        """
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        super().__init__(target=target, normalized_shape=shape, eps=eps)
        self.normalized_shape: tuple[int, ...] = self.params["normalized_shape"]
        self.eps: float | None = self.params["eps"]

    def __call__(self, x: torch.Tensor, weight: torch.Tensor | None = None) -> torch.Tensor:
        """Normalize *x*; nothing is written in place.

        Args:
            x: Shape ``(*B, *normalized_shape)``, float16, bfloat16 or float32.
            weight: Scale of shape ``normalized_shape`` in the input's dtype; None means ones.

        Returns:
            A new tensor like *x*, contiguous.

        Raises:
            SignatureError: A tensor does not fit.
            SelectionError: No kernel is selected.
        """
        recognise, run = self._recent
        result: torch.Tensor = (
            run(x, weight)
            if recognise(x, weight) and not modes() and forward_ad._current_level < 0
            else self._call((x, weight))
        )
        return result

    def requests(self, *inputs: Any) -> tuple[Request, ...]:
        """Ask for one kernel by width, epsilon and dtype."""
        dtype = inputs[0].dtype
        call = LayerNormCall(
            device=inputs[0].device,
            n=math.prod(self.normalized_shape),
            eps=torch.finfo(dtype).eps if self.eps is None else self.eps,
            dtype=dtype,
        )
        return (("rms_norm", call),)

    def bind(self, kernels: tuple[Kernel, ...], *inputs: torch.Tensor | None) -> Callable[..., Any]:
        """Pass ones for a weight that is absent, and rows of one dim."""
        (kernel,) = kernels
        x, weight = inputs
        assert x is not None
        if weight is not None:
            return rows_of(kernel, self.normalized_shape, x, weight)
        ones = FILLED.of(1.0, self.normalized_shape, x.dtype, x.device)
        run = rows_of(kernel, self.normalized_shape, x, ones)
        return like(run, lambda x, weight: run(x, ones))
