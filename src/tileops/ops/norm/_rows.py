"""Presenting several trailing dims to a kernel as the rows that they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["over_rows"]


def over_rows(run: Callable[..., Any], n: int) -> Callable[..., Any]:
    """Wrap *run*, which normalizes rows of *n* elements, for inputs with more trailing dims.

    The first input and the result keep their shape outside; inside, the input has one trailing
    dim of *n* elements and every further input is a vector of *n* elements.
    """

    def run_on_rows(x: torch.Tensor, *vectors: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = run(x.view(-1, n), *(one.view(-1) for one in vectors))
        return y.view(x.shape)

    return run_on_rows
