"""InstanceNormTrainKernel: instance normalization that moves running statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import current_facts
from tileops.kernels.alignment import MISALIGNED, aligned, any_address
from tileops.kernels.kernel import Entry
from tileops.kernels.norm.call_spec import BatchNormCall, InstanceNormTrainFwdInterface
from tileops.kernels.norm.channel_kernel import ChannelKernel
from tileops.kernels.norm.programs.build import layout_on
from tileops.kernels.norm.programs.instance_norm import TENSORS
from tileops.kernels.norm.programs.row_layout import RowLayout

__all__ = ["InstanceNormTrainKernel"]


class InstanceNormTrainKernel(ChannelKernel, InstanceNormTrainFwdInterface):
    """One launch normalizes planes and keeps their statistics, another one averages these."""

    general: bool = True

    @classmethod
    def entry_for(cls, call: BatchNormCall) -> Entry:
        """Identify the build by the layout, the size of a plane, what is computed and its dtype."""
        layout = layout_on(call.device_facts(), call.spatial, call.dtype, TENSORS)
        flags = (call.has_weight, call.has_bias)
        identity = (layout, call.spatial, call.eps, call.momentum, call.dtype, flags)
        return identity, lambda: cls(*identity)

    def __init__(
        self,
        layout: RowLayout,
        spatial: int,
        eps: float,
        momentum: float,
        dtype: torch.dtype,
        flags: tuple[bool, bool],
    ) -> None:
        """Compile both programs for the current device."""
        super().__init__()
        from tileops.kernels.norm.programs import instance_averages, instance_norm

        arch = current_facts().arch or 0
        self._flags = flags
        self._launch = instance_norm.build(spatial, eps, dtype, layout, *flags, True, arch)
        self._average = instance_averages.build(momentum, arch)

    def forward(
        self,
        x: torch.Tensor,
        running_mean: torch.Tensor,
        running_var: torch.Tensor,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
    ) -> torch.Tensor:
        """Normalize every plane of *x* into a new tensor and move the running statistics."""
        run: Callable[..., torch.Tensor] = self.bind(x, running_mean, running_var, weight, bias)
        return run(x, running_mean, running_var, weight, bias)

    def bind(self, *inputs: torch.Tensor | None) -> Callable[..., Any]:
        """Count planes once; the rest is the allocation and two launches."""
        x = inputs[0]
        assert x is not None
        samples, channels = x.shape[:2]
        planes = samples * channels
        has_weight, has_bias = self._flags
        empty_like, f32 = torch.empty_like, torch.float32

        @any_address
        def run(x: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any) -> Any:
            source = x.data_ptr()
            if source & MISALIGNED:
                x = aligned(x)
                source = x.data_ptr()
            y = empty_like(x)
            statistics = x.new_empty(2 * planes, dtype=f32)
            means = statistics.data_ptr()
            variances = means + 4 * planes
            self._launch(
                self._anchor,
                source,
                weight.data_ptr() if has_weight else 0,
                bias.data_ptr() if has_bias else 0,
                y.data_ptr(),
                means,
                variances,
                planes,
                channels,
            )
            self._average(
                self._anchor,
                running_mean.data_ptr(),
                running_var.data_ptr(),
                means,
                variances,
                samples,
                channels,
            )
            return y

        return run
