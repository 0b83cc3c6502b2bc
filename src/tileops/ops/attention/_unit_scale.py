"""The ones that stand for scales which fp8 inputs come without."""

from __future__ import annotations

import threading

import torch

from tileops.device import allocated_apart

__all__ = ["UnitScale"]


class UnitScale:
    """Float32 ones of one shape, made once per shape and device."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, int, torch.device], torch.Tensor] = {}
        self._lock = threading.Lock()

    def of(self, batch: int, heads: int, device: torch.device) -> torch.Tensor:
        """Return ones of shape ``(batch, heads)`` on *device*."""
        key = (batch, heads, device)
        with self._lock:
            if key not in self._made:
                self._made[key] = allocated_apart(lambda: _ones(batch, heads, device))
        return self._made[key]


def _ones(batch: int, heads: int, device: torch.device) -> torch.Tensor:
    ones = torch.ones((batch, heads), dtype=torch.float32, device=device)
    if device.type == "cuda":
        # They are kept and read from any stream later, so they must be there before they are
        # handed out; this happens once per shape and device.
        torch.cuda.current_stream(device).synchronize()
    return ones
