"""How attention is cut into tiles and splits: the one place to tune, and free of TileLang.

Figures here are guesses from sizes and rates until a board's measurements replace them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

__all__ = [
    "ROWS",
    "DecodeTiling",
    "PrefillTiling",
    "bs1_cluster",
    "clusters_for",
    "decode_tiling",
    "fp8_tiling",
    "head_tiles",
    "long_context_cluster",
    "prefill_tiling",
    "record_floats",
    "row_stride",
]

ROWS = 16
"""Query heads in a tile: the rows of one tensor core instruction."""

SM_SHARED = {80: 164 << 10, 89: 100 << 10, 90: 228 << 10}
"""Bytes of shared memory of a multiprocessor, each block's reserved KiB included."""


@dataclass(frozen=True)
class DecodeTiling:
    """How a block decodes.

    Attributes:
        warps: Warps of a block; each walks key tiles of its own.
        keys: Keys of a warp's tile.
        stages: Tiles of a warp that are on their way or in use.
        resident: Blocks that share a multiprocessor.
        cluster: Blocks that merge through each other's shared memory.
    """

    warps: int
    keys: int
    stages: int
    resident: int
    cluster: int = 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps * 32


@dataclass(frozen=True)
class PrefillTiling:
    """How a block attends with many queries.

    Attributes:
        queries: Queries of a block.
        keys: Keys of a tile.
        stages: Key tiles that are on their way or in use.
        threads: Threads of a block.
    """

    queries: int
    keys: int
    stages: int
    threads: int


def row_stride(dim: int, itemsize: int) -> int:
    """Return the elements between two rows of a staged tile.

    An odd number of 16-byte pieces, so that eight rows at one column lie in different banks.
    """
    pieces = math.ceil(math.ceil(dim / 16) * 16 * itemsize / 16)
    return (pieces | 1) * 16 // itemsize


def decode_tiling(
    dim: int, itemsize: int, arch: int, smem_budget: int, cluster: int = 1
) -> DecodeTiling:
    """Return the tiling for heads of *dim* elements on a device: the first choice that fits it.

    Args:
        dim: Elements of a head.
        itemsize: Bytes of an element.
        arch: The architecture.
        smem_budget: Bytes of shared memory that a block can use.
        cluster: Blocks of a cluster.
    """
    span = 16 if itemsize == 2 else 64
    width = math.ceil(dim / span) * span
    part = ROWS * (dim + 8) * 4
    for resident, warps, keys, stages in _DECODE_CHOICES:
        tiles = warps * stages * 2 * keys * row_stride(width, itemsize) * itemsize
        parts = (warps + (cluster > 1)) * part + cluster * ROWS * 16
        kept = ROWS * width * 2 if width > 128 else 0
        # TileLang lets parts take the place of tiles where both are all that a block stages.
        apart = kept > 0 or width > dim
        shared = kept + (tiles + parts if apart else max(tiles, parts))
        if shared + 1024 <= smem_budget and resident * (shared + 2048) <= SM_SHARED.get(
            arch, smem_budget
        ):
            return DecodeTiling(warps, keys, stages, resident, cluster)
    return DecodeTiling(2, 16, 2, 1, cluster)


# Blocks of a multiprocessor, warps, keys of a tile, stages.
_DECODE_CHOICES = (
    (3, 4, 16, 3),
    (2, 4, 16, 3),
    (2, 4, 16, 2),
    (1, 4, 16, 3),
    (1, 4, 16, 2),
    (1, 2, 16, 3),
    (1, 2, 16, 2),
)


@lru_cache(maxsize=4096)
def clusters_for(
    pairs: int, seqlen_kv: int, head_bytes: int, tiling: DecodeTiling, sm_count: int
) -> int:
    """Return over how many clusters (blocks, where a cluster is one) each head's keys are split.

    The number for which `_decode_time` is shortest: more splits keep the board busy and its last
    wave full, but each is one more part to merge.

    Args:
        pairs: Sequences times key heads times tiles of query heads: what runs without splits.
        seqlen_kv: Keys of a sequence.
        head_bytes: Bytes of a key and a value of one head.
        tiling: The block's.
        sm_count: Multiprocessors of the device.
    """
    most = math.ceil(seqlen_kv / (tiling.keys * tiling.warps * tiling.cluster))
    slots = max(1, sm_count * tiling.resident // tiling.cluster)
    full = max(1, slots // pairs)
    choices = {
        min(most, one) for one in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, (full + 1) // 2, full)
    }
    allowed = [one for one in sorted(choices) if one == 1 or pairs * one <= _WAVES * slots]
    return min(
        allowed,
        key=lambda one: _decode_time(one, most, pairs, slots, head_bytes, tiling, sm_count),
    )


def _decode_time(
    clusters: int,
    most: int,
    pairs: int,
    slots: int,
    head_bytes: int,
    tiling: DecodeTiling,
    sm_count: int,
) -> float:
    """Return about how many nanoseconds a launch takes: its waves, then the merge of its parts."""
    waves = math.ceil(pairs * clusters / slots)
    blocks = min(pairs * clusters, slots) * tiling.cluster
    rate = min(_SM_RATE * sm_count / blocks, _BLOCK_RATE)
    round_bytes = tiling.keys * tiling.warps * head_bytes
    reading = math.ceil(most / clusters) * round_bytes / rate
    # The parts of sixteen heads have half as many floats as a key and a value have 2-byte elements.
    part_bytes = ROWS * head_bytes
    merging = _START + clusters * part_bytes / tiling.cluster / _BLOCK_RATE
    return waves * (_START + reading) + (merging if clusters > 1 else 0.0)


_SM_RATE = 33.0
"""Bytes a nanosecond that each multiprocessor reads when all do."""

_BLOCK_RATE = 36.0
"""Bytes a nanosecond that one block reads when few do."""

_START = 1000.0
"""Nanoseconds until a block has its first bytes, or the last block its first parts."""

_WAVES = 8
"""Waves of blocks beyond which finer splits fill the last one no better."""


def head_tiles(group: int) -> int:
    """Return how many tiles the query heads of a key head fill."""
    return math.ceil(group / ROWS)


def record_floats(group: int, dim: int, cluster: int) -> int:
    """Return the floats of a cluster's part: its outputs, then four a row and block for sums."""
    rows = min(group, ROWS)
    return rows * dim + 4 * rows * cluster


def bs1_cluster(pairs: int, sm_count: int) -> int:
    """Return the blocks of a cluster where each of *pairs* tiles of heads has one cluster."""
    return next((blocks for blocks in (16, 8, 4, 2) if pairs * blocks <= sm_count), 1)


def long_context_cluster(arch: int) -> int:
    """Return the blocks of a cluster for long sequences."""
    return 8 if arch >= 90 else 1


def prefill_tiling(dim: int, arch: int, smem_budget: int) -> PrefillTiling:
    """Return the tiling for heads of *dim* elements on a device."""
    if arch >= 90:
        # Wider outputs than 192 elements leave two warpgroups too few registers.
        if dim > 192:
            return PrefillTiling(64, 64, 2, 128)
        return PrefillTiling(128, 128 if dim <= 128 else 64, 2, 256)
    queries = 128 if dim <= 128 and smem_budget >= 160 << 10 else 64
    return PrefillTiling(queries, 64 if dim <= 128 else 32, 2, 128)


def fp8_tiling(dim: int, smem_budget: int) -> PrefillTiling:
    """Return the tiling for fp8 heads of *dim* elements, each tile of which is there twice."""
    return PrefillTiling(64, 64 if 64 * 3 * 3 * dim <= smem_budget else 32, 1, 128)
