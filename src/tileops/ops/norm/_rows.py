"""Presenting several trailing dims to a kernel as the rows that they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tileops.kernels.kernel import Kernel

__all__ = ["rows_of"]


def rows_of(
    kernel: Kernel, shape: Sequence[int], x: torch.Tensor, *vectors: torch.Tensor
) -> Callable[..., Any]:
    """Return what runs a kernel that normalizes rows over the trailing dims of *shape*.

    Outside, the first input and the result have the same shape and every further input has
    *shape*. With several trailing dims, inside, the first input has rows of one dim and the
    others are vectors.
    """
    if len(shape) == 1:
        return kernel.bind(x, *vectors)
    n = math.prod(shape)

    def run_on_rows(x: torch.Tensor, *vectors: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = kernel(x.view(-1, n), *(one.view(-1) for one in vectors))
        return y.view(x.shape)

    return run_on_rows
