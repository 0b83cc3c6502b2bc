"""Contiguous tensors with the strides of new ones.

The stride of a dim of one element can be anything in torch, as that of the batch in one sequence
of a cache. TileLang's launchers do not overlook it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

__all__ = ["on_plain", "plain"]


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """Return a contiguous tensor with the strides that a new one of its shape has."""
    strides, step = [], 1
    for size in reversed(tensor.shape):
        strides.append(step)
        step *= size
    wanted = tuple(reversed(strides))
    return tensor if tensor.stride() == wanted else tensor.as_strided(tensor.shape, wanted)


def on_plain(
    run: Callable[..., torch.Tensor], *tensors: torch.Tensor | None
) -> Callable[..., torch.Tensor]:
    """Return what runs on tensors with the strides of these: *run* itself where they are plain."""
    if all(one is None or plain(one) is one for one in tensors):
        return run
    return lambda *given: run(*(None if one is None else plain(one) for one in given))
