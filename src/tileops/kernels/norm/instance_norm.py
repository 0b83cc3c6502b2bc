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
from tileops.kernels.norm.programs.build import layout_on
from tileops.kernels.norm.programs.instance_norm import TENSORS
from tileops.kernels.norm.programs.row_layout import RowLayout

__all__ = ["InstanceNormKernel"]


class InstanceNormKernel(ChannelKernel, InstanceNormFwdInterface):
    """A plane is a row of one factor: it waits on the chip where it fits, or is read twice."""

    general: bool = True

    @classmethod
    def entry_for(cls, call: BatchNormCall) -> Entry:
        """Identify the build by the layout, the size of a plane, what is computed and its dtype."""
        layout = layout_on(call.device_facts(), call.spatial, call.dtype, TENSORS)
        flags = (call.has_weight, call.has_bias)
        identity = (layout, call.spatial, call.eps, call.dtype, flags)
        return identity, lambda: cls(*identity)

    def __init__(
        self,
        layout: RowLayout,
        spatial: int,
        eps: float,
        dtype: torch.dtype,
        flags: tuple[bool, bool],
    ) -> None:
        """Compile the program for the current device."""
        super().__init__()
        from tileops.kernels.norm.programs.instance_norm import build

        arch = current_facts().arch or 0
        self._flags = flags
        self._launch = build(spatial, eps, dtype, layout, *flags, False, arch)

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
        has_weight, has_bias = self._flags
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
                y.data_ptr(),
                0,
                0,
                planes,
                channels,
            )
            return y

        return run
