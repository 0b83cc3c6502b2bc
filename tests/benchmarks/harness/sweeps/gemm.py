"""The sweep of the matrix product: layers of current models by numbers of tokens."""

from __future__ import annotations

from tileops.manifest import OpEntry, TypedShape, Workload

__all__ = ["points"]

LAYERS = (
    (2112, 7168),
    (4096, 4096),
    (4096, 7168),
    (7168, 2048),
    (7168, 16384),
    (8192, 8192),
    (24576, 1536),
    (24576, 4096),
)
"""Columns and depth."""

TOKENS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)


def points(entry: OpEntry) -> tuple[Workload, ...]:
    """Return the sweep of the matrix product, in the layout of a linear layer."""
    if entry.name != "GemmFwdOp":
        return ()
    return tuple(
        Workload(
            name=f"sweep-{n}-{k}-tokens-{m}",
            params={},
            inputs={"a": TypedShape("bfloat16", (m, k)), "b": TypedShape("bfloat16", (n, k))},
        )
        for n, k in LAYERS
        for m in TOKENS
    )
