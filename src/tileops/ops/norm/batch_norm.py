"""BatchNormFwdOp: batch normalization in training and in inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch
from torch.autograd import forward_ad

from tileops.kernels.alignment import like
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.batch_norm_infer import BatchNormFwdInferKernel
from tileops.kernels.norm.batch_norm_train import BatchNormFwdTrainKernel
from tileops.kernels.norm.batch_norm_train_cluster import BatchNormFwdTrainClusterKernel
from tileops.kernels.norm.batch_norm_train_split import BatchNormFwdTrainSplitKernel
from tileops.kernels.norm.batch_norm_train_whole import BatchNormFwdTrainWholeKernel
from tileops.kernels.norm.batch_norm_train_wide import BatchNormFwdTrainWideKernel
from tileops.kernels.norm.call_spec import (
    BatchNormCall,
    BatchNormInferFwdInterface,
    BatchNormTrainFwdInterface,
)
from tileops.kernels.norm.channel_calls import BatchNormInferCall, BatchNormTrainCall
from tileops.ops._recognise import modes
from tileops.ops.gradient import Gradient
from tileops.ops.norm._channels import channels_call, scratch
from tileops.ops.norm.batch_norm_bwd import BatchNormBwdOp
from tileops.ops.op import Op, Request

__all__ = ["BatchNormFwdOp"]

Result = torch.Tensor | tuple[torch.Tensor, torch.Tensor, torch.Tensor]


# What stands for inputs at the end that a call leaves out.
_ABSENT: tuple[Any, ...] = (None,) * 4


class BatchNormFwdOp(Op):
    """Batch normalization with the semantics of ``torch.nn.functional.batch_norm``.

    In training it also returns the statistics of the batch, and autograd differentiates it through
    `BatchNormBwdOp`.

    Attributes:
        backward_type: The op that its gradients come from.
    """

    kernel_types: ClassVar[Mapping[str, type[Kernel]]] = {
        "fwd_train_whole": BatchNormFwdTrainWholeKernel,
        "fwd_train_wide": BatchNormFwdTrainWideKernel,
        "fwd_train_cluster": BatchNormFwdTrainClusterKernel,
        "fwd_train_split": BatchNormFwdTrainSplitKernel,
        "fwd_train_kernel": BatchNormFwdTrainKernel,
        "fwd_infer_kernel": BatchNormFwdInferKernel,
    }
    interfaces: ClassVar[Mapping[str, type[KernelInterface]]] = {
        "batch_norm_fwd_train": BatchNormTrainFwdInterface,
        "batch_norm_fwd_infer": BatchNormInferFwdInterface,
    }
    backward_type: ClassVar[type[Op]] = BatchNormBwdOp

    def __init__(
        self,
        training: bool = False,
        momentum: float = 0.1,
        eps: float = 1e-5,
        *,
        target: str | None = None,
    ) -> None:
        """Normalize by the statistics of the batch in *training*, by the running ones otherwise.

        Args:
            training: Which statistics.
            momentum: How far running statistics move towards those of a batch.
            eps: Added to the variance.
            target: The target to run on; see `Op`.
        """
        super().__init__(target=target, training=training, momentum=momentum, eps=eps)
        self.training: bool = self.params["training"]
        self.momentum: float = self.params["momentum"]
        self.eps: float = self.params["eps"]
        backward: Any = self.backward_type
        self._backward: Callable[..., Any] | None = backward(target=target) if training else None

    def __call__(
        self,
        input: torch.Tensor,
        running_mean: torch.Tensor | None = None,
        running_var: torch.Tensor | None = None,
        weight: torch.Tensor | None = None,
        bias: torch.Tensor | None = None,
    ) -> Result:
        """Normalize *input*.

        Args:
            input: Shape ``(N, C, *spatial)`` with up to three spatial dims, float16, bfloat16 or
                float32.
            running_mean: ``(C,)`` float32. In training written in place, with *running_var*, and
                both may be absent; an input without elements leaves them as they are.
            running_var: ``(C,)`` float32, moved by the unbiased variance.
            weight: Scale of shape ``(C,)`` in the input's dtype; None means ones.
            bias: Shift of shape ``(C,)`` in the input's dtype; None means zeros.

        Returns:
            A new tensor like *input*, contiguous. In training also the mean and the reciprocal
            root of the biased variance plus eps, ``(C,)`` float32; NaN where there are no elements.

        Raises:
            SignatureError: A tensor does not fit, or a channel has one element in training.
            SelectionError: No kernel is selected.
            ForwardOnlyError: An input requires a gradient in inference.
        """
        recognise, run = self._recent
        result: Result = (
            run(input, running_mean, running_var, weight, bias)
            if recognise(input, running_mean, running_var, weight, bias)
            and not modes()
            and forward_ad._current_level < 0
            else self._call((input, running_mean, running_var, weight, bias))
        )
        return result

    def gradient(self) -> Gradient | None:
        """State the backward of a call in training, which `BatchNormBwdOp` runs."""
        if self._backward is None:
            return None
        return Gradient(
            inputs=("input", "weight", "bias"),
            outputs=("output",),
            saved=("input", "mean", "rstd", "weight"),
            run=self._backward,
        )

    def requests(self, *inputs: Any) -> tuple[Request, ...]:
        """Ask for one kernel by the shape, the parameters and which tensors are given."""
        call = self._describe(*inputs)
        kind = "train" if self.training else "infer"
        return () if call is None else ((f"batch_norm_fwd_{kind}", call),)

    def bind(self, kernels: tuple[Kernel, ...], *inputs: torch.Tensor | None) -> Callable[..., Any]:
        """Allocate a workspace in every call that needs one; run nothing without elements."""
        if not kernels:
            return _without_elements
        (kernel,) = kernels
        if not self.training:
            return kernel.bind(*inputs)
        input, call = inputs[0], self._describe(*inputs)
        assert input is not None
        assert call is not None
        size = BatchNormTrainFwdInterface.workspace(call)
        run = kernel.bind(*inputs, scratch(size, input))
        if not size:
            return like(run, lambda x, mean, var, w, b: run(x, mean, var, w, b, None))
        f32 = torch.float32
        return like(
            run,
            lambda x, mean, var, w, b: run(x, mean, var, w, b, x.new_empty(size, dtype=f32)),
        )

    def _describe(self, *inputs: Any) -> BatchNormCall | None:
        input, running_mean, _, weight, bias = [*inputs, *_ABSENT][:5]
        return channels_call(
            BatchNormTrainCall if self.training else BatchNormInferCall,
            input,
            eps=self.eps,
            momentum=self.momentum,
            has_weight=weight is not None,
            has_bias=bias is not None,
            has_running_stats=running_mean is not None,
        )


def _without_elements(input: torch.Tensor, *_: Any) -> Result:
    none = input.new_full((input.shape[1],), float("nan"), dtype=torch.float32)
    return torch.empty_like(input), none, none.clone()
