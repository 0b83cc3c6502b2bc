"""How attention is cut into tiles and splits: the one place to tune, and free of TileLang.

The figures for SM90 were measured on an H200; those for other architectures are guesses from
sizes and rates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

__all__ = [
    "KEPT_WIDTH",
    "ROWS",
    "SWIZZLED",
    "DecodeTiling",
    "PrefillTiling",
    "bs1_cluster",
    "clusters_for",
    "clusters_win",
    "decode_tiling",
    "fp8_tiling",
    "head_tiles",
    "part_places",
    "prefill_tiling",
    "record_floats",
    "row_stride",
    "shared_floats",
    "slice_items",
    "staged_width",
]

ROWS = 16
"""Query heads in a tile: the rows of one tensor core instruction."""

KEPT_WIDTH = 128
"""The widest heads whose queries stay in registers; wider ones are kept in shared memory."""

SWIZZLED = 64
"""The 16-bit elements of a row's part in which a tensor map exchanges pieces among rows."""

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
        overlap: Whether the next kernel may be launched while blocks of this one run.
        boxes: Whether a block brings in tiles for all of its warps at once, by tensor maps.
    """

    warps: int
    keys: int
    stages: int
    resident: int
    cluster: int = 1
    overlap: bool = False
    boxes: bool = False

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


def staged_width(dim: int, itemsize: int) -> int:
    """Return the elements that a staged row has room for: whole steps of the instructions.

    Sixteen elements are a step, and 64 what a lane's 16-byte vectors of fp8 cover.
    """
    span = 16 if itemsize == 2 else 64
    return math.ceil(dim / span) * span


def shared_floats(rows: int, dim: int, itemsize: int, tiling: DecodeTiling) -> int:
    """Return the floats of shared memory of a block, which first holds tiles, then parts.

    Args:
        rows: Query heads of a tile.
        dim: Elements of a head.
        itemsize: Bytes of an element.
        tiling: The block's.
    """
    stride = dim if tiling.boxes else row_stride(staged_width(dim, itemsize), itemsize)
    tiles = tiling.warps * tiling.stages * 2 * tiling.keys * stride * itemsize // 4
    return max(tiles, part_places(rows, dim, tiling)[-1])


def part_places(rows: int, dim: int, tiling: DecodeTiling) -> tuple[int, int, int, int, int]:
    """Return where in a block's floats the parts lie that it merges, and where they end.

    Outputs of its warps, their maxima and sums, then what the blocks of its cluster send: a slice
    of outputs each, maxima and sums.
    """
    cluster = tiling.cluster if tiling.cluster > 1 else 0
    sums = tiling.warps * rows * (dim + 4)
    received = sums + tiling.warps * rows * 4
    received_sums = received + cluster * slice_items(rows, dim, tiling.cluster) * 4
    return 0, sums, received, received_sums, received_sums + cluster * rows * 4


def slice_items(rows: int, dim: int, cluster: int) -> int:
    """Return how many vectors of four outputs each block of a cluster merges."""
    return math.ceil(rows * dim // 4 / cluster)


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
    width = staged_width(dim, itemsize)
    # Clusters of blocks that leave room for each other's start sooner, and short rows in few
    # tiles would leave too few bytes on their way. Fp8 rows are too short for boxes.
    alone = arch >= 90 and cluster == 1
    boxes = alone and itemsize == 2 and dim % SWIZZLED == 0
    large = alone and width * itemsize >= _LARGE_ROW
    for resident, warps, keys, stages in (
        _BOX_CHOICES if boxes else _LARGE_CHOICES if large else _DECODE_CHOICES
    ):
        tiling = DecodeTiling(warps, keys, stages, resident, cluster, arch >= 90, boxes)
        shared = 4 * shared_floats(ROWS, dim, itemsize, tiling)
        shared += ROWS * width * 2 if width > KEPT_WIDTH else 0
        if shared + 1024 <= smem_budget and resident * (shared + 2048) <= SM_SHARED.get(
            arch, smem_budget
        ):
            return tiling
    return DecodeTiling(2, 16, 2, 1, cluster, arch >= 90)


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

# Eight warps merge a long sequence's parts sooner than four, and one block restarts less than two.
_LARGE_CHOICES = ((1, 8, 16, 3), *_DECODE_CHOICES)

# Boxes of 32 KiB, three on their way; two blocks where heads of 64 make them half as large.
_BOX_CHOICES = ((2, 8, 16, 3), (1, 8, 16, 3), (1, 4, 16, 3), *_DECODE_CHOICES)

_LARGE_ROW = 128
"""Bytes of a staged row from which eight warps' tiles alone fill the way to memory."""


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
    return _best_clusters(pairs, most, head_bytes, tiling, sm_count)


# Kept by the steps over the keys, which a decoded sequence has one more of every 64 tokens or so.
@lru_cache(maxsize=4096)
def _best_clusters(
    pairs: int, most: int, head_bytes: int, tiling: DecodeTiling, sm_count: int
) -> int:
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
    full, left = divmod(pairs * clusters, slots)
    own_bytes = math.ceil(most / clusters) * tiling.keys * tiling.warps * head_bytes

    def rate(blocks: int) -> float:
        return min(_SM_RATE * sm_count / (blocks * tiling.cluster), _BLOCK_RATE)

    if full >= _DRIFTED:
        reading = pairs * clusters / slots * own_bytes / rate(slots)
    else:
        reading = full * own_bytes / rate(slots) + (own_bytes / rate(left) if left else 0.0)
    # The parts of sixteen heads have half as many floats as a key and a value have 2-byte elements.
    part_bytes = ROWS * head_bytes
    merging = _MERGE + clusters * part_bytes / tiling.cluster / _MERGE_RATE
    starting = math.ceil(pairs * clusters / slots) * _START
    return starting + reading + (merging if clusters > 1 else 0.0)


_SM_RATE = 32.0
"""Bytes a nanosecond that each multiprocessor reads when all do."""

_BLOCK_RATE = 55.0
"""Bytes a nanosecond that one block reads when few do."""

_START = 1000.0
"""Nanoseconds until a block has its first bytes."""

_MERGE = 1500.0
"""Nanoseconds until the last block knows that it is, and has its first parts."""

_MERGE_RATE = 160.0
"""Bytes of parts that a block reads in a nanosecond."""

_DRIFTED = 3
"""Full waves after which blocks have drifted apart, so that the last one ends like any other."""

_WAVES = 8
"""Waves of blocks beyond which finer splits fill the last one no better."""


def head_tiles(group: int) -> int:
    """Return how many tiles the query heads of a key head fill."""
    return math.ceil(group / ROWS)


def record_floats(group: int, dim: int, cluster: int) -> int:
    """Return the floats of a cluster's part: its outputs, then four a row and block for sums."""
    rows = min(group, ROWS)
    return rows * dim + 4 * rows * cluster


def clusters_win(pairs: int, seqlen_kv: int) -> bool:
    """Return whether one cluster for each of *pairs* tiles of heads is faster than blocks.

    Clusters merge sooner, blocks read faster: the two are even at some keys of all tiles together.

    Args:
        pairs: Key heads times tiles of query heads.
        seqlen_kv: Keys of the one sequence.
    """
    return pairs * seqlen_kv <= _CLUSTER_KEYS


_CLUSTER_KEYS = 4096
"""Keys of all tiles of heads up to which clusters are faster: a tile a warp on half a board."""


def bs1_cluster(pairs: int, sm_count: int) -> int:
    """Return the blocks of a cluster where each of *pairs* tiles of heads has one cluster.

    Two multiprocessors share a way to memory that one of them fills: there is one block for two.
    """
    return next((blocks for blocks in (16, 8, 4, 2) if 2 * pairs * blocks <= sm_count), 1)


def prefill_tiling(dim: int, arch: int, smem_budget: int, *, capped: bool = False) -> PrefillTiling:
    """Return the tiling for heads of *dim* elements on a device.

    Args:
        dim: Elements of a head.
        arch: The architecture.
        smem_budget: Bytes of shared memory that a block can use.
        capped: Whether scores are bounded.
    """
    if arch >= 90:
        # Narrow outputs leave a third warpgroup enough registers, if no cap needs more.
        if dim <= 64 and not capped:
            return PrefillTiling(192, 128, 2, 384)
        return PrefillTiling(128, 128 if dim <= 128 else 64, 2, 256)
    queries = 128 if dim <= 128 and smem_budget >= 160 << 10 else 64
    return PrefillTiling(queries, 64 if dim <= 128 else 32, 2, 128)


def fp8_tiling(dim: int, smem_budget: int) -> PrefillTiling:
    """Return the tiling for fp8 heads of *dim* elements, each tile of which is there twice."""
    return PrefillTiling(64, 64 if 64 * 3 * 3 * dim <= smem_budget else 32, 1, 128)
