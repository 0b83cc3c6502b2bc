"""BatchNormBwdSplitKernel: the gradients of batch normalization of channels in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import current_facts
from tileops.kernels.alignment import MISALIGNED, aligned, any_address
from tileops.kernels.norm.batch_norm_bwd import BatchNormBwdKernel
from tileops.kernels.norm.channel_kernel import ChannelKernel
from tileops.kernels.norm.programs.channel_layout import ChannelLayout
from tileops.kernels.norm.split_channels import SplitChannels

__all__ = ["BatchNormBwdSplitKernel"]


class BatchNormBwdSplitKernel(SplitChannels, BatchNormBwdKernel):
    """The gradients of batch normalization in two launches: sums of parts, then all else."""

    general: bool = False

    def __init__(
        self, layout: ChannelLayout, spatial: int, dtype: torch.dtype, has_weight: bool
    ) -> None:
        """Compile both programs for the current device."""
        ChannelKernel.__init__(self)
        from tileops.kernels.norm.programs.batch_norm_bwd_split import build

        arch = current_facts().arch or 0
        self._layout, self._has_weight = layout, has_weight
        self._sum_up, self._launch = build(spatial, dtype, layout, has_weight, arch)

    def bind(self, *inputs: torch.Tensor | None) -> Callable[..., Any]:
        """Count samples, channels and parts once; the rest is the allocation and two launches."""
        _, x, *_, workspace = inputs
        assert x is not None
        assert workspace is not None
        samples, channels, parts = self.counts(self._layout, x, workspace)
        has_weight, empty_like = self._has_weight, torch.empty_like

        @any_address
        def run(grad_output: Any, x: Any, mean: Any, rstd: Any, weight: Any, workspace: Any) -> Any:
            gradient, source, partials = grad_output.data_ptr(), x.data_ptr(), workspace.data_ptr()
            if (gradient | source) & MISALIGNED:
                grad_output, x = aligned(grad_output), aligned(x)
                gradient, source = grad_output.data_ptr(), x.data_ptr()
            centre = mean.data_ptr()
            grad_input, grad_weight = empty_like(x), x.new_empty(channels)
            grad_bias = empty_like(grad_weight)
            self._sum_up(self._anchor, gradient, source, centre, partials, samples, channels, parts)
            self._launch(
                self._anchor,
                gradient,
                source,
                centre,
                rstd.data_ptr(),
                weight.data_ptr() if has_weight else 0,
                partials,
                grad_input.data_ptr(),
                grad_weight.data_ptr(),
                grad_bias.data_ptr(),
                samples,
                channels,
                parts,
            )
            return grad_input, grad_weight, grad_bias

        return run
