"""InstanceNormFwdOp: instance normalization by own or by running statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch
from torch.autograd import forward_ad

from tileops.kernels.alignment import like
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.batch_norm_infer import BatchNormFwdInferKernel
from tileops.kernels.norm.call_spec import (
    BatchNormCall,
    InstanceNormFwdInterface,
    InstanceNormInferFwdInterface,
    InstanceNormTrainFwdInterface,
)
from tileops.kernels.norm.channel_calls import (
    InstanceNormCall,
    InstanceNormInferCall,
    InstanceNormTrainCall,
)
from tileops.kernels.norm.instance_norm import InstanceNormKernel
from tileops.kernels.norm.instance_norm_train import InstanceNormTrainKernel
from tileops.ops._recognise import modes
from tileops.ops.norm._channels import channels_call
from tileops.ops.op import Op, Request

__all__ = ["InstanceNormFwdOp"]


# What stands for inputs at the end that a call leaves out.
_ABSENT: tuple[Any, ...] = (None,) * 4


class InstanceNormFwdOp(Op):
    """Instance normalization with the semantics of ``torch.nn.functional.instance_norm``."""

    kernel_types: ClassVar[Mapping[str, type[Kernel]]] = {
        "instance_norm": InstanceNormKernel,
        "instance_norm_train": InstanceNormTrainKernel,
        "fwd_infer_kernel": BatchNormFwdInferKernel,
    }
    interfaces: ClassVar[Mapping[str, type[KernelInterface]]] = {
        "instance_norm": InstanceNormFwdInterface,
        "instance_norm_train": InstanceNormTrainFwdInterface,
        "instance_norm_infer": InstanceNormInferFwdInterface,
    }

    def __init__(
        self,
        use_input_stats: bool = True,
        momentum: float = 0.1,
        eps: float = 1e-5,
        *,
        target: str | None = None,
    ) -> None:
        """Normalize planes by their own statistics, or channels by running ones.

        Args:
            use_input_stats: Whether by their own.
            momentum: How far running statistics move towards those of a batch.
            eps: Added to the variance.
            target: The target to run on; see `Op`.
        """
        super().__init__(target=target, use_input_stats=use_input_stats, momentum=momentum, eps=eps)
        self.use_input_stats: bool = self.params["use_input_stats"]
        self.momentum: float = self.params["momentum"]
        self.eps: float = self.params["eps"]

    def __call__(
        self,
        input: torch.Tensor,
        running_mean: torch.Tensor | None = None,
        running_var: torch.Tensor | None = None,
        weight: torch.Tensor | None = None,
        bias: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Normalize *input*.

        Args:
            input: Shape ``(N, C, *spatial)`` with up to three spatial dims, float16, bfloat16 or
                float32.
            running_mean: ``(C,)`` float32. By own statistics written in place, with *running_var*,
                and both may be absent; an input without elements leaves them as they are.
            running_var: ``(C,)`` float32, moved by the average of the unbiased variances.
            weight: Scale of shape ``(C,)`` in the input's dtype; None means ones.
            bias: Shift of shape ``(C,)`` in the input's dtype; None means zeros.

        Returns:
            A new tensor like *input*, contiguous.

        Raises:
            SignatureError: A tensor does not fit, or a plane of one element has statistics taken.
            SelectionError: No kernel is selected.
        """
        recognise, run = self._recent
        result: torch.Tensor = (
            run(input, running_mean, running_var, weight, bias)
            if recognise(input, running_mean, running_var, weight, bias)
            and not modes()
            and forward_ad._current_level < 0
            else self._call((input, running_mean, running_var, weight, bias))
        )
        return result

    def requests(self, *inputs: Any) -> tuple[Request, ...]:
        """Ask for one kernel by the shape, the parameters and which tensors are given."""
        input, running_mean, _, weight, bias = [*inputs, *_ABSENT][:5]
        if not self.use_input_stats:
            kind: type[BatchNormCall] = InstanceNormInferCall
            name = "instance_norm_infer"
        elif running_mean is not None:
            name, kind = "instance_norm_train", InstanceNormTrainCall
        else:
            name, kind = "instance_norm", InstanceNormCall
        call = channels_call(
            kind,
            input,
            eps=self.eps,
            momentum=self.momentum,
            has_weight=weight is not None,
            has_bias=bias is not None,
            has_running_stats=running_mean is not None,
        )
        return () if call is None else ((name, call),)

    def bind(self, kernels: tuple[Kernel, ...], *inputs: torch.Tensor | None) -> Callable[..., Any]:
        """Leave running statistics out that are not given; run nothing without elements."""
        if not kernels:
            return lambda input, *others: torch.empty_like(input)
        (kernel,) = kernels
        input, running_mean, _, weight, bias = inputs
        if running_mean is not None:
            return kernel.bind(*inputs)
        run = kernel.bind(input, weight, bias)
        return like(run, lambda input, mean, var, weight, bias: run(input, weight, bias))
