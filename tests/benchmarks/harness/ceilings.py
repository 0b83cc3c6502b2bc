"""Ceilings: what the board gives large calls of torch, and the roofline time they imply."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import torch

from harness.case import Case
from harness.clock import Clock, Launch
from harness.record import Ceilings
from harness.timing import Effort, measure_one

__all__ = ["measure_ceilings", "roofline"]

Bound = Literal["copy", "read", "compute"]

STREAM_BYTES = 2**30
GEMM_SIZES = (4096, 8192)
READ_SHARE = 0.9
"""From this share of reads on, a call is held to the read ceiling instead of the copy ceiling."""


def measure_ceilings(clock: Clock, device: torch.device, effort: Effort, seed: int) -> Ceilings:
    """Measure the bandwidths and the matrix rate on random data."""
    generator = torch.Generator(device).manual_seed(seed)
    source = torch.randn(STREAM_BYTES // 4, device=device, generator=generator)
    target = torch.empty_like(source)

    def rate(work: float, *calls: Callable[[], Any]) -> float:
        times = [measure_one(clock, Launch(partial(_without_set, f), 1), effort) for f in calls]
        return work / min(one.median_us for one in times) * 1e-6

    # A captured copy_ is a node of its own kind, which the copy engine may run at half the speed
    # of a kernel; a kernel that reads and writes every element has no such second form.
    copy = rate(2 * STREAM_BYTES, lambda: torch.neg(source, out=target))
    read = rate(STREAM_BYTES, source.sum, source.amax)
    products = []
    for size in GEMM_SIZES:
        a, b = torch.randn(2, size, size, device=device, generator=generator).to(torch.bfloat16)
        products.append(rate(2 * size**3, partial(torch.mm, a, b.T)))
    return Ceilings(
        copy_tbs=round(copy, 4), read_tbs=round(read, 4), gemm_tflops=round(max(products), 1)
    )


def _without_set(call: Callable[[], Any], i: int) -> Any:
    return call()


def roofline(case: Case, ceilings: Ceilings) -> tuple[Bound, float]:
    """Return the ceiling that bounds a case, and its time at that ceiling in microseconds."""
    reads = case.cost.bytes - case.output_bytes >= READ_SHARE * case.cost.bytes
    memory: Bound = "read" if reads else "copy"
    rate = ceilings.read_tbs if reads else ceilings.copy_tbs
    times: dict[Bound, float] = {
        memory: case.cost.bytes / rate * 1e-6,
        "compute": case.cost.flops / ceilings.gemm_tflops * 1e-6,
    }
    bound = max(times, key=lambda one: times[one])
    return bound, times[bound]
