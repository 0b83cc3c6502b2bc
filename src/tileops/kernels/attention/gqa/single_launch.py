"""SingleLaunch: a built program whose launch needs nothing besides inputs and output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.plain import on_plain

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
        launch, dtype, empty_like = self._launch, self._out_dtype, torch.empty_like
        passed = 2 + sum(one is not None for one in scales)

        def run(q: torch.Tensor, *others: Any) -> torch.Tensor:
            o = empty_like(q, dtype=dtype)
            launch(q, *others[:passed], o)
            return o

        return on_plain(run, q, k, v, *scales)
