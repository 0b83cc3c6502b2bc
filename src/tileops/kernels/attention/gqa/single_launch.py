"""SingleLaunch: a built program whose launch needs nothing besides inputs and output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.kernels.alignment import MISALIGNED, aligned, any_address
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.plain import empty_in, on_plain

__all__ = ["SingleLaunch"]


class SingleLaunch:
    """A program over the grid that the lengths of its tensors make."""

    def __init__(self, launch: Callable[..., None], form: GQAForm) -> None:
        """Keep what launches calls of one form: ``launch(q, k, v, [scales,] o)``."""
        self._launch = launch
        self._out_dtype: torch.dtype = getattr(torch, form.out_dtype)

    def bind(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *scales: torch.Tensor | None
    ) -> Callable[..., torch.Tensor]:
        """Return what runs calls on tensors with the shapes and strides of these."""
        launch, empty_like = self._launch, empty_in(self._out_dtype, q)
        passed = sum(one is not None for one in scales)

        def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *scales: Any) -> torch.Tensor:
            if (q.data_ptr() | k.data_ptr() | v.data_ptr()) & MISALIGNED:
                q, k, v = aligned(q), aligned(k), aligned(v)
            o = empty_like(q)
            launch(q, k, v, *scales[:passed], o)
            return o

        # It does not look at where scales start.
        return on_plain(run if passed else any_address(run), q, k, v, *scales)
