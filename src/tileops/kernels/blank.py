"""Blanks: tensors of one element with any shape, which new tensors are made like.

``torch.empty_like`` of one takes two thirds of the time of ``torch.empty`` with a shape, a dtype
and a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch

from tileops.device import allocated_apart

__all__ = ["DENSE", "blank"]

DENSE = torch.contiguous_format
"""The strides to make a tensor like a blank with, which has none of its own."""


def blank(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Return a tensor of this shape that takes the memory of one element."""
    return _element(dtype, device).expand(shape)


@lru_cache(maxsize=256)
def _element(dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return allocated_apart(lambda: torch.empty((), dtype=dtype, device=device))
