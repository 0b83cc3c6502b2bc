"""Tickets: the counters by which blocks find out that they are the last."""

from __future__ import annotations

import threading

import torch

from tileops.device import allocated_apart

__all__ = ["SLOTS", "Tickets"]

SLOTS = 4096
"""Counters of a stream; a launch that splits sequences needs fewer than it has blocks."""


class Tickets:
    """Int32 zeros that a launch counts in and leaves as zeros.

    Launches on one stream run one after another and share them; two streams would count in each
    other's, so each has its own. A CUDA graph may be replayed on any stream, also while the stream
    it was captured on is at work: a launch that is captured gets counters of its own, and the
    graph zeroes them.
    """

    def __init__(self) -> None:
        self._by_stream: dict[tuple[int, int], torch.Tensor] = {}
        self._lock = threading.Lock()

    def here(self, device: torch.device) -> torch.Tensor:
        """Return the counters of the current stream of *device*."""
        if torch.cuda.is_current_stream_capturing():
            return _zeros(device)
        stream = torch.cuda.current_stream(device)
        key = (stream.device_index, stream.cuda_stream)
        tickets = self._by_stream.get(key)
        if tickets is None:
            with self._lock:
                tickets = self._by_stream.get(key)
                if tickets is None:
                    tickets = allocated_apart(lambda: _zeroed_on(stream, device))
                    self._by_stream[key] = tickets
        return tickets


def _zeros(device: torch.device) -> torch.Tensor:
    return torch.zeros(SLOTS, dtype=torch.int32, device=device)


def _zeroed_on(stream: torch.cuda.Stream, device: torch.device) -> torch.Tensor:
    with torch.cuda.stream(stream):
        return _zeros(device)
