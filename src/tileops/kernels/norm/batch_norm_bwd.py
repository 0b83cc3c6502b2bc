"""BatchNormBwdKernel: the gradients of batch normalization of every size, reading data twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import current_facts
from tileops.kernels.alignment import MISALIGNED, aligned, any_address
from tileops.kernels.kernel import Entry
from tileops.kernels.norm.call_spec import BatchNormBwdInterface, BatchNormCall
from tileops.kernels.norm.channel_kernel import ChannelKernel
from tileops.kernels.norm.programs.channel_layout import ChannelLayout
from tileops.kernels.norm.programs.standing_layout import StandingLayout

__all__ = ["BatchNormBwdKernel"]


class BatchNormBwdKernel(ChannelKernel, BatchNormBwdInterface):
    """A block takes a channel, or neighbouring ones, and reads both tensors twice in one launch.

    Subclasses lay channels out so that they wait on the chip between sums and result.
    """

    general: bool = True
    streams: int = 2

    @classmethod
    def entry_for(cls, call: BatchNormCall) -> Entry:
        """Identify the build by the layout, the size of a plane, the dtype and the scale."""
        identity = (cls.walk(call), call.spatial, call.dtype, call.has_weight)
        return identity, lambda: cls(*identity)

    @classmethod
    def walk(cls, call: BatchNormCall) -> ChannelLayout | StandingLayout:
        """Lay out the channels of a call: for blocks of one turn, unless a subclass has more."""
        return cls.layout(call)

    def __init__(
        self,
        layout: ChannelLayout | StandingLayout,
        spatial: int,
        dtype: torch.dtype,
        has_weight: bool,
    ) -> None:
        """Compile the program for the current device."""
        super().__init__()
        from tileops.kernels.norm.programs.batch_norm_bwd import build

        self._has_weight = has_weight
        self._launch = build(spatial, dtype, layout, has_weight, current_facts().arch or 0)

    def forward(
        self,
        grad_output: torch.Tensor,
        x: torch.Tensor,
        mean: torch.Tensor,
        rstd: torch.Tensor,
        weight: torch.Tensor | None,
        workspace: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Differentiate; the workspace is not used."""
        inputs = (grad_output, x, mean, rstd, weight, workspace)
        results: tuple[torch.Tensor, torch.Tensor, torch.Tensor] = self.bind(*inputs)(*inputs)
        return results

    def bind(self, *inputs: torch.Tensor | None) -> Callable[..., Any]:
        """Count samples and channels once; the rest is the allocation and the launch."""
        x = inputs[1]
        assert x is not None
        samples, channels = x.shape[:2]
        has_weight, empty_like = self._has_weight, torch.empty_like

        @any_address
        def run(grad_output: Any, x: Any, mean: Any, rstd: Any, weight: Any, _: Any) -> Any:
            gradient, source = grad_output.data_ptr(), x.data_ptr()
            if (gradient | source) & MISALIGNED:
                grad_output, x = aligned(grad_output), aligned(x)
                gradient, source = grad_output.data_ptr(), x.data_ptr()
            grad_input, grad_weight = empty_like(x), x.new_empty(channels)
            grad_bias = empty_like(grad_weight)
            self._launch(
                self._anchor,
                gradient,
                source,
                mean.data_ptr(),
                rstd.data_ptr(),
                weight.data_ptr() if has_weight else 0,
                grad_input.data_ptr(),
                grad_weight.data_ptr(),
                grad_bias.data_ptr(),
                samples,
                channels,
            )
            return grad_input, grad_weight, grad_bias

        return run
