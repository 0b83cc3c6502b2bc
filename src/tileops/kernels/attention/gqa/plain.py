"""Contiguous tensors with the strides of new ones.

The stride of a dim of one element can be anything in torch, as that of the batch in one sequence
of a cache. TileLang's launchers do not overlook it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from tileops.kernels.alignment import like

__all__ = ["empty_in", "is_plain", "on_plain", "plain"]


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """Return a contiguous tensor with the strides that a new one of its shape has."""
    if is_plain(tensor):
        return tensor
    strides, step = [], 1
    for size in reversed(tensor.shape):
        strides.append(step)
        step *= size
    return tensor.as_strided(tensor.shape, strides[::-1])


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether a contiguous tensor has the strides that a new one of its shape has."""
    shape = tensor.shape
    if 1 not in shape:
        return True
    step = 1
    for size, stride in zip(reversed(shape), reversed(tensor.stride()), strict=True):
        if stride != step:
            return False
        step *= size
    return True


def empty_in(dtype: torch.dtype, q: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return what allocates a tensor of *dtype* like one with the strides and dtype of *q*."""
    # Naming the dtype costs a fifth of the allocation.
    return torch.empty_like if q.dtype == dtype else partial(torch.empty_like, dtype=dtype)


def on_plain(
    run: Callable[..., torch.Tensor], *tensors: torch.Tensor | None
) -> Callable[..., torch.Tensor]:
    """Return what runs on tensors with the strides of these: *run* itself where they are plain."""
    if not [one for one in tensors if one is not None and not is_plain(one)]:
        return run
    return like(run, lambda *given: run(*[None if one is None else plain(one) for one in given]))
