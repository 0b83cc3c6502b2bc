"""Tickets: the counters by which blocks find out that they are the last."""

from __future__ import annotations

import math
import threading

import torch

from tileops.device import allocated_apart

__all__ = ["Tickets"]

STREAM = 4096
"""Counters of a stream; a launch whose parts are merged has fewer blocks at once than these."""

CAPTURED = 4 << 20
"""Counters of a device for captured launches, 16 MiB."""

LINE = 32
"""Counters of a 128-byte line, which two launches do not share."""


class Tickets:
    """Int32 zeros that a launch counts in and leaves as zeros.

    Launches on one stream run one after another and share counters; two streams would count in
    each other's, so each has its own. A CUDA graph may be replayed on any stream, beside work of
    the one it was captured on: a captured launch gets counters that no other ever has. When a
    device has no more of these, the graph zeroes some for the launch, which costs it a node.
    """

    def __init__(self) -> None:
        self._by_stream: dict[tuple[int, int], torch.Tensor] = {}
        self._captured: dict[torch.device, torch.Tensor] = {}
        self._lock = threading.Lock()

    def prepare(self, device: torch.device) -> None:
        """Allocate the counters of captured launches, which no capture could."""
        with self._lock:
            if device not in self._captured:
                self._captured[device] = allocated_apart(lambda: _settled(CAPTURED, device))

    def take(self, device: torch.device, count: int) -> torch.Tensor:
        """Return counters for a launch on the current stream of *device*, at least *count*."""
        if torch.cuda.is_current_stream_capturing():
            return self.take_captured(device, count)
        stream = torch.cuda.current_stream(device)
        key = (stream.device_index, stream.cuda_stream)
        counters = self._by_stream.get(key)
        if counters is None:
            with self._lock:
                counters = self._by_stream.get(key)
                if counters is None:
                    counters = allocated_apart(lambda: _settled(STREAM, device))
                    self._by_stream[key] = counters
        return counters

    def take_captured(self, device: torch.device, count: int) -> torch.Tensor:
        """Return *count* counters that no launch has had or will have."""
        lines = math.ceil(count / LINE) * LINE
        with self._lock:
            left = self._captured.get(device)
            if left is not None and lines <= len(left):
                self._captured[device] = left[lines:]
                return left[:count]
        return torch.zeros(count, dtype=torch.int32, device=device)


def _settled(count: int, device: torch.device) -> torch.Tensor:
    """Return zeros that are there for every stream."""
    counters = torch.zeros(count, dtype=torch.int32, device=device)
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()
    return counters
