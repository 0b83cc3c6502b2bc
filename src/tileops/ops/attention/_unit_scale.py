"""The ones that stand for scales which fp8 inputs come without."""

from __future__ import annotations

import threading

import torch

from tileops.device import allocated_apart

__all__ = ["UnitScale"]


class UnitScale:
    """Float32 ones, as many as the largest call so far needs and at most twice as many.

    So new sizes seldom allocate. Calls that were planned before keep what they were given.
    """

    def __init__(self) -> None:
        self._made: dict[torch.device, torch.Tensor] = {}
        self._lock = threading.Lock()

    def of(self, batch: int, heads: int, device: torch.device) -> torch.Tensor:
        """Return ones of shape ``(batch, heads)`` on *device*."""
        count = batch * heads
        with self._lock:
            ones = self._made.get(device)
            if ones is None or len(ones) < count:
                size = 1 << (count - 1).bit_length()
                ones = self._made[device] = allocated_apart(lambda: _ones(size, device))
        return ones[:count].view(batch, heads)


def _ones(count: int, device: torch.device) -> torch.Tensor:
    ones = torch.ones(count, dtype=torch.float32, device=device)
    if device.type == "cuda":
        # They are kept and read from any stream later, so they must be there before they are
        # handed out; this happens once for every doubling.
        torch.cuda.current_stream(device).synchronize()
    return ones
