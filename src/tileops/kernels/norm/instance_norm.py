"""InstanceNormKernel: instance normalization of every size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import current_facts
from tileops.kernels.alignment import MISALIGNED, aligned, any_address
from tileops.kernels.kernel import Entry
from tileops.kernels.norm.call_spec import BatchNormCall, InstanceNormFwdInterface
from tileops.kernels.norm.channel_kernel import ChannelKernel
from tileops.kernels.norm.programs.channel_layout import (
    SLICE,
    ChannelLayout,
    Planes,
    in_cluster,
    on_chip,
    passing,
)
from tileops.kernels.norm.programs.channel_normal import Factors

__all__ = ["InstanceNormKernel", "instances", "layout_of_instances"]

_FIRST_CLUSTER_ARCH = 90


def instances(call: BatchNormCall) -> Planes:
    """Describe the planes of *call* as the channels of one sample."""
    return Planes(1, call.n * call.c, call.spatial, call.itemsize, call.short)


def layout_of_instances(call: BatchNormCall) -> ChannelLayout:
    """Lay planes out: staged by a block, or a cluster of them, where they fit."""
    facts = call.device_facts()
    planes = instances(call)
    staged = None
    if (facts.arch or 0) >= _FIRST_CLUSTER_ARCH and call.spatial * call.itemsize > SLICE:
        staged = in_cluster(planes, facts)
    return staged or on_chip(planes, facts) or passing(planes, facts)


class InstanceNormKernel(ChannelKernel, InstanceNormFwdInterface):
    """A plane is a channel of one sample: it waits on the chip where it fits, or is read twice."""

    general: bool = True

    @classmethod
    def entry_for(cls, call: BatchNormCall) -> Entry:
        """Identify the build by the layout, the size of a plane, what is computed and its dtype."""
        factors = Factors(call.has_weight, call.has_bias, "nothing")
        identity = (layout_of_instances(call), call.spatial, call.eps, call.dtype, factors)
        return identity, lambda: cls(*identity)

    def __init__(
        self,
        layout: ChannelLayout,
        spatial: int,
        eps: float,
        dtype: torch.dtype,
        factors: Factors,
    ) -> None:
        """Compile the program for the current device."""
        super().__init__()
        from tileops.kernels.norm.programs.batch_norm_train import build

        self._factors = factors
        self._launch = build(spatial, eps, 0.0, dtype, layout, factors, current_facts().arch or 0)

    def forward(
        self, x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None
    ) -> torch.Tensor:
        """Normalize every plane of *x* into a new tensor."""
        run: Callable[..., torch.Tensor] = self.bind(x, weight, bias)
        return run(x, weight, bias)

    def bind(self, *inputs: torch.Tensor | None) -> Callable[..., Any]:
        """Count planes once; the rest is the allocation and the launch."""
        x = inputs[0]
        assert x is not None
        planes, channels = x.shape[0] * x.shape[1], x.shape[1]
        has_weight, has_bias = self._factors.weight, self._factors.bias
        empty_like = torch.empty_like

        @any_address
        def run(x: Any, weight: Any, bias: Any) -> Any:
            source = x.data_ptr()
            if source & MISALIGNED:
                x = aligned(x)
                source = x.data_ptr()
            y = empty_like(x)
            self._launch(
                self._anchor,
                source,
                weight.data_ptr() if has_weight else 0,
                bias.data_ptr() if has_bias else 0,
                0,
                0,
                y.data_ptr(),
                0,
                0,
                1,
                planes,
                channels,
            )
            return y

        return run
