"""BatchNormFwdTrainSplitKernel: training batch normalization of channels in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import current_facts
from tileops.kernels.alignment import MISALIGNED, aligned, any_address
from tileops.kernels.norm.batch_norm_train import BatchNormFwdTrainKernel
from tileops.kernels.norm.channel_kernel import ChannelKernel
from tileops.kernels.norm.programs.channel_layout import ChannelLayout
from tileops.kernels.norm.programs.channel_normal import Factors
from tileops.kernels.norm.split_channels import SplitChannels

__all__ = ["BatchNormFwdTrainSplitKernel"]


class BatchNormFwdTrainSplitKernel(SplitChannels, BatchNormFwdTrainKernel):
    """Training batch normalization in two launches: statistics of parts, then all else."""

    general: bool = False

    def __init__(
        self,
        layout: ChannelLayout,
        spatial: int,
        eps: float,
        momentum: float,
        dtype: torch.dtype,
        factors: Factors,
    ) -> None:
        """Compile both programs for the current device."""
        ChannelKernel.__init__(self)
        from tileops.kernels.norm.programs.batch_norm_split import build

        arch = current_facts().arch or 0
        self._layout, self._factors = layout, factors
        self._sum_up, self._launch = build(spatial, eps, momentum, dtype, layout, factors, arch)

    def bind(self, *inputs: torch.Tensor | None) -> Callable[..., Any]:
        """Count samples, channels and parts once; the rest is the allocation and two launches."""
        x, *_, workspace = inputs
        assert x is not None
        assert workspace is not None
        samples, channels, parts = self.counts(self._layout, x, workspace)
        has_weight, has_bias = self._factors.weight, self._factors.bias
        running = self._factors.running
        empty_like, f32 = torch.empty_like, torch.float32

        @any_address
        def run(
            x: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, workspace: Any
        ) -> Any:
            source, partials = x.data_ptr(), workspace.data_ptr()
            if source & MISALIGNED:
                x = aligned(x)
                source = x.data_ptr()
            y, mean = empty_like(x), x.new_empty(channels, dtype=f32)
            rstd = empty_like(mean)
            self._sum_up(self._anchor, source, partials, samples, channels, parts)
            self._launch(
                self._anchor,
                source,
                weight.data_ptr() if has_weight else 0,
                bias.data_ptr() if has_bias else 0,
                running_mean.data_ptr() if running else 0,
                running_var.data_ptr() if running else 0,
                partials,
                y.data_ptr(),
                mean.data_ptr(),
                rstd.data_ptr(),
                samples,
                channels,
                parts,
            )
            return y, mean, rstd

        return run
