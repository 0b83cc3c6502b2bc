"""The sweep of the row norms: widths of current models by numbers of rows."""

from __future__ import annotations

from collections.abc import Iterator

from tileops.kernels.norm.call_spec import LayerNormCall
from tileops.manifest import OpEntry, TypedShape, Workload
from tileops.ops.catalogue import in_tree_ops

__all__ = ["points"]

WIDTHS = (
    *(64, 96, 128, 256),
    *(768, 1024, 1152, 1280, 1408),
    *(2048, 2560, 2880, 3072, 3584, 4096, 5120, 5376, 6144, 7168, 8192, 12288, 16384),
    *(65536, 131072, 262144),
)
WIDEST_HEAD = 256
"""Up to this width a row is an attention head, of which there are many more than tokens."""

ROWS = (1, 128, 2048, 32768)
HEAD_ROWS = (32, 4096, 65536, 1048576)
MOST_ELEMENTS = 2**29
"""Points beyond this many elements say nothing that smaller ones do not."""

PER_ROW = frozenset({"weight", "bias"})
"""Inputs that hold one row; every other input holds them all."""


def points(entry: OpEntry) -> tuple[Workload, ...]:
    """Return the sweep of an op that normalizes rows, none for another op."""
    op = in_tree_ops().get(entry.name)
    if op is None or all(one.request is not LayerNormCall for one in op.interfaces.values()):
        return ()
    sized = {"normalized_shape"} & {param.name for param in entry.signature.params}
    return tuple(
        Workload(
            name=f"sweep-{width}-rows-{rows}",
            params=dict.fromkeys(sized, (width,)),
            inputs={
                decl.name: TypedShape(
                    "bfloat16", (width,) if decl.name in PER_ROW else (rows, width)
                )
                for decl in entry.signature.inputs
            },
        )
        for width, rows in _sizes()
    )


def _sizes() -> Iterator[tuple[int, int]]:
    for width in WIDTHS:
        for rows in HEAD_ROWS if width <= WIDEST_HEAD else ROWS:
            if rows * width <= MOST_ELEMENTS:
                yield width, rows
