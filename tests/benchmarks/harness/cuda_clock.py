"""The clock of a CUDA device: launches recorded in graphs, timed by events, caches evicted."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Any

import torch

from harness.clock import Launch

__all__ = ["CudaClock"]


class _GraphReplay:
    def __init__(self, graph: torch.cuda.CUDAGraph) -> None:
        self._graph = graph
        event: Any = torch.cuda.Event
        self._start, self._end = event(enable_timing=True), event(enable_timing=True)

    def seconds(self) -> float:
        self._start.record()
        self._graph.replay()
        self._end.record()
        self._end.synchronize()
        milliseconds: float = self._start.elapsed_time(self._end)
        return milliseconds * 1e-3


class CudaClock:
    """Records launches as CUDA graphs on one device; use it as a context manager.

    Args:
        device: The device.
        cold_bytes: Bytes to read between replays, several times the L2 cache.
    """

    def __init__(self, device: torch.device, cold_bytes: int) -> None:
        self._device = device
        # Reading evicts without leaving dirty lines, whose write-back the next replay would pay.
        self._ballast = torch.zeros(cold_bytes // 4, dtype=torch.int32, device=device)
        self._sum = torch.empty((), dtype=torch.int64, device=device)
        # All graphs share one pool, so a workload takes the memory of its hungriest contestant.
        # None is released before the clock closes: the pool must not become empty in between.
        self._pool = torch.cuda.graph_pool_handle()
        self._graphs: list[torch.cuda.CUDAGraph] = []
        stream: Any = torch.cuda.Stream
        self._stream = stream(device)

    def record(self, launch: Launch, count: int) -> _GraphReplay:
        """Warm up, then capture *count* launches into one graph."""
        stream = self._stream
        stream.wait_stream(torch.cuda.current_stream(self._device))
        graph = torch.cuda.CUDAGraph()
        held: deque[Any] = deque(maxlen=launch.sets)
        with torch.cuda.stream(stream):
            for i in range(2):
                launch.run(i % launch.sets)
            stream.synchronize()
            # Not torch.cuda.graph: it collects garbage first, which takes longer than the timing.
            graph.capture_begin(pool=self._pool)
            self._graphs.append(graph)
            try:
                for i in range(count):
                    held.append(launch.run(i % launch.sets))
            except BaseException:
                # Ending a capture that failed raises too, and would hide why it failed.
                with suppress(RuntimeError):
                    graph.capture_end()
                raise
            graph.capture_end()
        torch.cuda.current_stream(self._device).wait_stream(stream)
        replay = _GraphReplay(graph)
        replay.seconds()
        return replay

    def flush(self) -> None:
        """Read more than the caches hold."""
        torch.sum(self._ballast, dim=0, out=self._sum)

    def __enter__(self) -> CudaClock:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        torch.cuda.synchronize(self._device)
        self._graphs.clear()
