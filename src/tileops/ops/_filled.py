"""Filled: the ones and zeros that stand for absent inputs, made once for the process."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Sequence

import torch

from tileops.device import allocated_apart

__all__ = ["FILLED", "Filled"]

SMALLEST = 4096
"""Elements that are allocated at least."""


class Filled:
    """Memory that holds one value, for each value, dtype and device.

    There is as much as the largest call so far needs and at most twice as many, so new sizes seldom
    allocate. None of it is freed: when an op is dropped, a launch on another stream may not have
    read it yet, and the allocator would give it to another tensor.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[float, torch.dtype, torch.device], list[torch.Tensor]] = {}
        self._lock = threading.Lock()

    def of(
        self, value: float, shape: Sequence[int], dtype: torch.dtype, device: torch.device
    ) -> torch.Tensor:
        """Return a tensor of *shape* on *device* that is *value* throughout; it is shared."""
        count = math.prod(shape)
        with self._lock:
            made = self._made.setdefault((value, dtype, device), [])
            if not made or len(made[-1]) < count:
                size = max(SMALLEST, 1 << (count - 1).bit_length())
                made.append(allocated_apart(lambda: _full(value, size, dtype, device)))
            return made[-1][:count].view(shape)

    def renew_lock(self) -> None:
        """Have a lock that is free: in a fork, the thread that held the old one does not exist."""
        self._lock = threading.Lock()


def _full(value: float, count: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    tensor = torch.full((count,), value, dtype=dtype, device=device)
    if device.type == "cuda":
        # It is read from any stream later, so it must be there before it is handed out; this
        # happens once for every doubling.
        torch.cuda.current_stream(device).synchronize()
    return tensor


FILLED = Filled()
"""What every op takes from."""

os.register_at_fork(after_in_child=FILLED.renew_lock)
