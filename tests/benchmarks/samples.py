"""Results as a run would have made them, a few facts at a time."""

from __future__ import annotations

from harness.record import Board, Ceilings, PeerRow, Results, Row, Settings, Timing


def timing(us, scatter=0.0):
    """Return a timing around a median."""
    return Timing(median_us=us, low_us=us - scatter, high_us=us + scatter, samples=21, launches=100)


def row(workload, us=100.0, scatter=0.0, **facts):
    """Return a timed row of 400 MB, at the ceiling of 4 TB/s when it takes 100 us."""
    known = {
        "op": "LayerNormFwdOp",
        "family": "norm",
        "workload": workload,
        "source": "manifest",
        "params": {"normalized_shape": "(4096,)"},
        "inputs": {"input": "bf16[24414, 4096]"},
        "status": "timed" if us else "failed",
        "keys": {"layer_norm": "layer_norm"},
        "flops": 1_000_000,
        "bytes": 400_000_000,
        "timing": timing(us, scatter) if us else None,
        "bound": "copy",
        "roofline_us": 100.0,
        "fraction": 100.0 / us if us else None,
    }
    return Row(**(known | facts))


def peer(name, speedup, us=100.0):
    """Return a timed peer of a row that took *us*."""
    return PeerRow(name=name, status="timed", timing=timing(us * speedup), speedup=speedup)


def results(*rows, **facts):
    """Return results of a board with a copy ceiling of 4 TB/s."""
    known = {
        "created": "2026-01-02T03:04:05+00:00",
        "commit": "0123456789abcdef",
        "settings": Settings(
            quick=False, seed=0, repetitions=21, cold_bytes=2**28, peers=("torch",)
        ),
        "board": Board(
            name="NVIDIA H200", arch=90, sm_count=132, memory_bytes=2**37, l2_bytes=60 * 2**20
        ),
        "versions": {"torch": "2.11.0", "tilelang": "0.1.15"},
        "ceilings": Ceilings(copy_tbs=4.0, read_tbs=4.1, gemm_tflops=700.0),
        "rows": rows,
    }
    return Results(**(known | facts))
