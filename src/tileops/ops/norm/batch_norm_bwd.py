"""BatchNormBwdOp: the gradients of batch normalization in training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch
from torch.autograd import forward_ad

from tileops.kernels.alignment import like
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.batch_norm_bwd import BatchNormBwdKernel
from tileops.kernels.norm.batch_norm_bwd_cluster import BatchNormBwdClusterKernel
from tileops.kernels.norm.batch_norm_bwd_split import BatchNormBwdSplitKernel
from tileops.kernels.norm.batch_norm_bwd_whole import BatchNormBwdWholeKernel
from tileops.kernels.norm.batch_norm_bwd_wide import BatchNormBwdWideKernel
from tileops.kernels.norm.call_spec import BatchNormBwdInterface, BatchNormCall
from tileops.kernels.norm.channel_calls import BatchNormBwdCall
from tileops.ops._recognise import modes
from tileops.ops.norm._channels import channels_call, scratch
from tileops.ops.op import Op, Request

__all__ = ["BatchNormBwdOp"]

Gradients = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class BatchNormBwdOp(Op):
    """The gradients of batch normalization by the statistics of the batch."""

    kernel_types: ClassVar[Mapping[str, type[Kernel]]] = {
        "bwd_whole": BatchNormBwdWholeKernel,
        "bwd_wide": BatchNormBwdWideKernel,
        "bwd_cluster": BatchNormBwdClusterKernel,
        "bwd_split": BatchNormBwdSplitKernel,
        "bwd_kernel": BatchNormBwdKernel,
    }
    interfaces: ClassVar[Mapping[str, type[KernelInterface]]] = {
        "batch_norm_bwd": BatchNormBwdInterface
    }

    def __init__(self, *, target: str | None = None) -> None:
        """Take no parameters.

        Args:
            target: The target to run on; see `Op`.
        """
        super().__init__(target=target)

    def __call__(
        self,
        grad_output: torch.Tensor,
        input: torch.Tensor,
        mean: torch.Tensor,
        rstd: torch.Tensor,
        weight: torch.Tensor | None = None,
    ) -> Gradients:
        """Differentiate; nothing is written in place.

        Args:
            grad_output: The gradient of the output, like *input*.
            input: What was normalized: ``(N, C, *spatial)`` with up to three spatial dims, float16,
                bfloat16 or float32.
            mean: ``(C,)`` float32, as `BatchNormFwdOp` returned it.
            rstd: The same for the reciprocal deviation.
            weight: Scale of shape ``(C,)`` in the input's dtype; None means ones.

        Returns:
            New gradients in the input's dtype: of the input, of the scale and of the shift.

        Raises:
            SignatureError: A tensor does not fit.
            SelectionError: No kernel is selected.
        """
        recognise, run = self._recent
        result: Gradients = (
            run(grad_output, input, mean, rstd, weight)
            if recognise(grad_output, input, mean, rstd, weight)
            and not modes()
            and forward_ad._current_level < 0
            else self._call((grad_output, input, mean, rstd, weight))
        )
        return result

    def requests(self, *inputs: Any) -> tuple[Request, ...]:
        """Ask for one kernel by the shape and whether a scale is given."""
        call = self._describe(*inputs)
        return () if call is None else (("batch_norm_bwd", call),)

    def bind(self, kernels: tuple[Kernel, ...], *inputs: torch.Tensor | None) -> Callable[..., Any]:
        """Allocate a workspace in every call that needs one; sum nothing without elements."""
        if not kernels:
            return _without_elements
        (kernel,) = kernels
        input, call = inputs[1], self._describe(*inputs)
        assert input is not None
        assert call is not None
        size = BatchNormBwdInterface.workspace(call)
        run = kernel.bind(*inputs, scratch(size, input))
        if not size:
            return like(run, lambda dy, x, mean, rstd, w: run(dy, x, mean, rstd, w, None))
        f32 = torch.float32
        return like(
            run,
            lambda dy, x, mean, rstd, w: run(dy, x, mean, rstd, w, x.new_empty(size, dtype=f32)),
        )

    def _describe(self, *inputs: Any) -> BatchNormCall | None:
        weight = inputs[4] if len(inputs) > 4 else None
        return channels_call(BatchNormBwdCall, inputs[1], has_weight=weight is not None)


def _without_elements(grad_output: torch.Tensor, input: torch.Tensor, *_: Any) -> Gradients:
    nothing = input.new_zeros(input.shape[1])
    return torch.empty_like(input), nothing, nothing.clone()
