"""The CUDA device as a run sees it."""

from __future__ import annotations

import gc

import torch

from harness.cuda_clock import CudaClock

__all__ = ["COLD_CACHES", "CudaMachine"]

COLD_CACHES = 4
"""How many times the L2 cache is read before a replay, and rotated over within one."""


class CudaMachine:
    """One CUDA device."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        properties = torch.cuda.get_device_properties(device)
        self.cold_bytes = COLD_CACHES * properties.L2_cache_size

    def clock(self) -> CudaClock:
        """Return a clock with a graph pool of its own."""
        return CudaClock(self.device, self.cold_bytes)

    def free_bytes(self) -> int:
        """Return what the driver and torch's own cache have free."""
        free, _ = torch.cuda.mem_get_info(self.device)
        cached = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return free + cached

    def synchronize(self) -> None:
        """Wait for the device."""
        torch.cuda.synchronize(self.device)

    def tidy(self) -> None:
        """Collect what a case left, then move survivors out of the collector's way."""
        gc.collect()
        gc.freeze()
        torch.cuda.empty_cache()
