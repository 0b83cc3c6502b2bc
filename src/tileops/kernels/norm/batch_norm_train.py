"""BatchNormFwdTrainKernel: training batch normalization of every size, reading the data twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import current_facts
from tileops.kernels.alignment import MISALIGNED, aligned, any_address
from tileops.kernels.kernel import Entry
from tileops.kernels.norm.call_spec import BatchNormCall, BatchNormTrainFwdInterface
from tileops.kernels.norm.channel_kernel import ChannelKernel
from tileops.kernels.norm.programs.channel_layout import (
    LEAST_TOGETHER,
    MOST_TOGETHER,
    ChannelLayout,
)
from tileops.kernels.norm.programs.channel_normal import Factors
from tileops.kernels.norm.programs.channel_planes import ACCESS, SHORTEST_ACCESS

__all__ = ["BatchNormFwdTrainKernel"]


class BatchNormFwdTrainKernel(ChannelKernel, BatchNormTrainFwdInterface):
    """A block takes a channel, or neighbouring ones, and reads them twice in one launch.

    Subclasses lay channels out so that they wait on the chip between statistics and result.
    """

    general: bool = True

    @classmethod
    def shortest(cls, call: BatchNormCall) -> int:
        """Let many channels of a batch that clusters hold go together rather than by 8 bytes."""
        # 1024 channels of 14 x 14 took 0.83 of the time that a block for each takes.
        together = call.c >= LEAST_TOGETHER and call.n <= MOST_TOGETHER
        return ACCESS if together else SHORTEST_ACCESS

    @classmethod
    def entry_for(cls, call: BatchNormCall) -> Entry:
        """Identify the build by the layout, the size of a plane, what is computed and its dtype."""
        factors = Factors(call.has_weight, call.has_bias, call.has_running_stats)
        identity = (cls.layout(call), call.spatial, call.eps, call.momentum, call.dtype, factors)
        return identity, lambda: cls(*identity)

    def __init__(
        self,
        layout: ChannelLayout,
        spatial: int,
        eps: float,
        momentum: float,
        dtype: torch.dtype,
        factors: Factors,
    ) -> None:
        """Compile the program for the current device."""
        super().__init__()
        from tileops.kernels.norm.programs.batch_norm_train import build

        arch = current_facts().arch or 0
        self._factors = factors
        self._launch = build(spatial, eps, momentum, dtype, layout, factors, arch)

    def forward(
        self,
        x: torch.Tensor,
        running_mean: torch.Tensor | None,
        running_var: torch.Tensor | None,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
        workspace: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Normalize *x* by its own statistics; the workspace is not used."""
        run = self.bind(x, running_mean, running_var, weight, bias, workspace)
        results: tuple[torch.Tensor, torch.Tensor, torch.Tensor] = run(
            x, running_mean, running_var, weight, bias, workspace
        )
        return results

    def bind(self, *inputs: torch.Tensor | None) -> Callable[..., Any]:
        """Count samples and channels once; the rest is the allocation and the launch."""
        x = inputs[0]
        assert x is not None
        samples, channels = x.shape[:2]
        has_weight, has_bias = self._factors.weight, self._factors.bias
        running = self._factors.running
        empty_like, f32 = torch.empty_like, torch.float32

        @any_address
        def run(x: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, _: Any) -> Any:
            source = x.data_ptr()
            if source & MISALIGNED:
                x = aligned(x)
                source = x.data_ptr()
            y, mean = empty_like(x), x.new_empty(channels, dtype=f32)
            rstd = empty_like(mean)
            self._launch(
                self._anchor,
                source,
                weight.data_ptr() if has_weight else 0,
                bias.data_ptr() if has_bias else 0,
                running_mean.data_ptr() if running else 0,
                running_var.data_ptr() if running else 0,
                y.data_ptr(),
                mean.data_ptr(),
                rstd.data_ptr(),
                samples,
                channels,
            )
            return y, mean, rstd

        return run
