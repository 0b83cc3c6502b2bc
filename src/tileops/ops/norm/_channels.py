"""Describing data (n, c, *spatial dims) to the kernels that normalize channels."""

from __future__ import annotations

import math
from typing import Any

import torch

from tileops.kernels.norm.channel_calls import BatchNormCall

__all__ = ["channels_call", "scratch"]


def channels_call(kind: type[BatchNormCall], input: Any, **facts: Any) -> BatchNormCall | None:
    """Return the call spec of data (n, c, *spatial dims), or None where it holds no element.

    Args:
        kind: Which call spec.
        input: The data: a tensor or a `TensorSpec`.
        facts: Further facts by name.
    """
    n, c, *dims = input.shape
    spatial = math.prod(dims)
    if n * c * spatial == 0:
        return None
    return kind(device=input.device, n=n, c=c, spatial=spatial, dtype=input.dtype, **facts)


def scratch(size: int, like: torch.Tensor) -> torch.Tensor | None:
    """Return float32 memory of *size* elements for one call, or None where it needs none."""
    return like.new_empty(size, dtype=torch.float32) if size else None
