"""The scale of ones and the shift of zeros that stand for an absent weight and bias."""

from __future__ import annotations

import threading

import torch

from tileops.device import allocated_apart

__all__ = ["AffineIdentity"]


class AffineIdentity:
    """Ones and zeros of one shape, made once per dtype and device."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape
        self._made: dict[tuple[torch.dtype, torch.device], tuple[torch.Tensor, torch.Tensor]] = {}
        self._lock = threading.Lock()

    def like(self, tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return ones and zeros in the dtype and on the device of *tensor*."""
        key = (tensor.dtype, tensor.device)
        with self._lock:
            if key not in self._made:
                self._made[key] = allocated_apart(lambda: _make(self._shape, tensor))
        return self._made[key]


def _make(shape: tuple[int, ...], like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    pair = (
        torch.ones(shape, dtype=like.dtype, device=like.device),
        torch.zeros(shape, dtype=like.dtype, device=like.device),
    )
    if like.is_cuda:
        # The pair is kept and read from any stream later, so it must be there before it is handed
        # out; this happens once per dtype and device.
        torch.cuda.current_stream(like.device).synchronize()
    return pair
