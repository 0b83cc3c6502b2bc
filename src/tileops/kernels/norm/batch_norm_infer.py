"""BatchNormFwdInferKernel: batch or instance normalization by running statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import current_facts
from tileops.kernels.alignment import MISALIGNED, aligned, any_address
from tileops.kernels.kernel import Entry
from tileops.kernels.norm.call_spec import BatchNormCall, InstanceNormInferFwdInterface
from tileops.kernels.norm.channel_kernel import ChannelKernel
from tileops.kernels.norm.programs.infer_layout import InferLayout, infer_layout

__all__ = ["BatchNormFwdInferKernel"]


class BatchNormFwdInferKernel(ChannelKernel, InstanceNormInferFwdInterface):
    """A scale and a shift for every channel, computed where they are used; the data is read once.

    It is an implementation of `BatchNormInferFwdInterface` and of the same of instances.
    """

    general: bool = True

    @classmethod
    def entry_for(cls, call: BatchNormCall) -> Entry:
        """Identify the build by the layout, the size of a plane, what is computed and its dtype."""
        layout = infer_layout(call.n, call.c, call.spatial, call.itemsize, call.device_facts())
        flags = (call.has_weight, call.has_bias)
        identity = (layout, call.spatial, call.eps, call.dtype, flags)
        return identity, lambda: cls(*identity)

    def __init__(
        self,
        layout: InferLayout,
        spatial: int,
        eps: float,
        dtype: torch.dtype,
        flags: tuple[bool, bool],
    ) -> None:
        """Compile the program for the current device."""
        super().__init__()
        from tileops.kernels.norm.programs.batch_norm_infer import build

        self._flags = flags
        self._launch = build(spatial, eps, dtype, layout, *flags, current_facts().arch or 0)

    def forward(
        self,
        x: torch.Tensor,
        running_mean: torch.Tensor,
        running_var: torch.Tensor,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
    ) -> torch.Tensor:
        """Normalize *x* by the statistics given into a new tensor."""
        run: Callable[..., torch.Tensor] = self.bind(x, running_mean, running_var, weight, bias)
        return run(x, running_mean, running_var, weight, bias)

    def bind(self, *inputs: torch.Tensor | None) -> Callable[..., Any]:
        """Count samples and channels once; the rest is the allocation and the launch."""
        x = inputs[0]
        assert x is not None
        samples, channels = x.shape[:2]
        has_weight, has_bias = self._flags
        empty_like = torch.empty_like

        @any_address
        def run(x: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any) -> Any:
            source = x.data_ptr()
            if source & MISALIGNED:
                x = aligned(x)
                source = x.data_ptr()
            y = empty_like(x)
            self._launch(
                self._anchor,
                source,
                running_mean.data_ptr(),
                running_var.data_ptr(),
                weight.data_ptr() if has_weight else 0,
                bias.data_ptr() if has_bias else 0,
                y.data_ptr(),
                samples,
                channels,
            )
            return y

        return run
