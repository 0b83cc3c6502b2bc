"""RowNormKernel: what the kernels that normalize rows share besides LayerNormKernel's contract."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import DeviceFacts, current_facts
from tileops.kernels.kernel import Entry, Kernel
from tileops.kernels.norm.call_spec import LayerNormCall

__all__ = ["RowNormKernel"]


class RowNormKernel(Kernel):
    """A kernel whose program is built for a width, an epsilon and a dtype, for any row count."""

    supported_archs: list[int] = [80, 86, 89, 90]

    @classmethod
    def entry_for(cls, call: LayerNormCall) -> Entry:
        """Identify the build by width, epsilon and dtype."""
        identity = (call.n, call.eps, call.dtype)
        return identity, lambda: cls(*identity)

    def __init__(self, n: int, eps: float, dtype: torch.dtype) -> None:
        """Compile the program for rows of *n* elements on the current device."""
        super().__init__()
        self._n = n
        self._launch = self.build(n, eps, dtype, current_facts())

    @staticmethod
    def build(n: int, eps: float, dtype: torch.dtype, facts: DeviceFacts) -> Callable[..., Any]:
        """Compile the program for rows of *n* elements on a device of these facts."""
        raise NotImplementedError
