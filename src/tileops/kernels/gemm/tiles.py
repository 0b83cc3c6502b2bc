"""The shapes in which the matrix products are cut, and the choice among them.

Everything that measurements on a card may change stands here, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "BOUNDED_TILES",
    "GEMV_ROWS",
    "SKINNY_ROWS",
    "SKINNY_TILES",
    "TMA_TILES",
    "GemvLayout",
    "SkinnyTile",
    "Tile",
    "bounded",
    "columns_layout",
    "quickest",
    "rows_layout",
    "skinny_tiles",
    "splits_of",
]


@dataclass(frozen=True)
class Tile:
    """The part of a product that one block makes at a time.

    Attributes:
        m: Its rows.
        n: Its columns.
        k: The depth of one step.
        stages: Steps that are on the chip at once.
        threads: Threads that multiply; the Hopper program adds a warpgroup that copies.
        speed: The share of a multiprocessor's tensor throughput that it reaches.
        cluster: Blocks that bring in the second operand for each other.
        parts: Parts, side by side, in which its result is staged on the way to memory.
    """

    m: int
    n: int
    k: int
    stages: int
    threads: int
    speed: float = 1.0
    cluster: int = 1
    parts: int = 1


# A warpgroup of Hopper multiplies 64 rows by up to 256 columns at a time. Two or three of them
# share the columns' operand, so it is read once for 128 or 192 rows. A step takes 1.2 to 1.5
# microseconds to arrive, whatever its size, so rings are deep; but for the widest tiles four
# stages beat five, whose slots are not told by a mask.
TMA_TILES = (
    Tile(m=128, n=256, k=64, stages=4, threads=256, speed=0.87, parts=2),
    Tile(m=192, n=176, k=64, stages=4, threads=384, speed=0.86, parts=2),
    Tile(m=128, n=224, k=64, stages=4, threads=256, speed=0.86, parts=2),
    Tile(m=128, n=192, k=64, stages=4, threads=256, speed=0.86),
    Tile(m=128, n=176, k=64, stages=4, threads=256, speed=0.86),
    Tile(m=128, n=128, k=64, stages=6, threads=256, speed=0.72),
    Tile(m=64, n=128, k=64, stages=8, threads=128, speed=0.55),
    Tile(m=64, n=64, k=128, stages=6, threads=128, speed=0.42),
)
"""Tiles of the Hopper program, the quickest first: large ones for products that fill the chip,
several widths so that one of them fills its last wave, small ones for fewer rows."""

BOUNDED_TILES = (
    Tile(m=32, n=64, k=64, stages=4, threads=128),
    Tile(m=128, n=128, k=32, stages=4, threads=256),
)
"""Tiles of the general program, each for products up to twice its rows, the last for any."""

# Multiply-adds that a multiprocessor of an H200 makes in a microsecond at the dense peak of
# 16-bit operands (990 TFLOP/s over 132).
_RATE = 3.75e6

# Microseconds that a block spends on filling its ring and on storing its last tile.
_TURNAROUND = 2.0


def quickest(tiles: Iterable[Tile], m: int, n: int, k: int, multiprocessors: int) -> Tile:
    """Return the tile that makes the product soonest.

    Blocks run in waves over the multiprocessors, so a tile costs what its last, maybe nearly
    empty, wave does.
    """

    def duration(tile: Tile) -> float:
        blocks = -(-m // tile.m) * -(-n // tile.n)
        waves = -(-blocks // multiprocessors)
        return waves * (tile.m * tile.n * k / (tile.speed * _RATE) + _TURNAROUND)

    return min(tiles, key=duration)


def bounded(m: int) -> Tile:
    """Return the general program's tile for *m* rows."""
    small, large = BOUNDED_TILES
    return small if m <= 2 * small.m else large


SKINNY_ROWS = 128
"""The most rows for which the second operand is worth reading as fast as memory gives it."""


@dataclass(frozen=True)
class SkinnyTile:
    """The part of a product with few rows that one block makes.

    Attributes:
        rows: The rows of the product that it has room for.
        columns: Its columns, which take the rows of the tensor cores' tile.
        k: The depth of one step.
        stages: Steps that are on the chip at once.
        threads: Threads that multiply.
        resident: Blocks of a multiprocessor.
    """

    rows: int
    columns: int
    k: int
    stages: int
    threads: int
    resident: int


# Up to 32 rows a ring of half the shared memory keeps enough under way, and leaves room for a block
# of the next product, which comes in before this one has ended. For more rows it takes all of it.
# Every block reads all rows of the first operand through the L2 cache, so where the columns alone
# occupy the chip, wider tiles spread that over more of them.
SKINNY_TILES = (
    SkinnyTile(rows=16, columns=64, k=128, stages=5, threads=128, resident=2),
    SkinnyTile(rows=32, columns=64, k=128, stages=4, threads=128, resident=2),
    SkinnyTile(rows=64, columns=64, k=128, stages=6, threads=128, resident=1),
    SkinnyTile(rows=64, columns=192, k=64, stages=6, threads=384, resident=1),
    SkinnyTile(rows=128, columns=64, k=64, stages=8, threads=128, resident=1),
    SkinnyTile(rows=128, columns=192, k=64, stages=5, threads=384, resident=1),
)
"""Tiles by the rows that they have room for, up to SKINNY_ROWS; narrow ones before wide."""


def skinny_tiles(n: int, multiprocessors: int) -> tuple[SkinnyTile, ...]:
    """Return the tiles for products of *n* columns, one per room, ascending.

    Of one room the narrowest whose blocks are all resident at one time, else the widest.
    """
    best: dict[int, SkinnyTile] = {}
    for tile in reversed(SKINNY_TILES):
        if tile.rows not in best or -(-n // tile.columns) <= tile.resident * multiprocessors:
            best[tile.rows] = tile
    return tuple(best[rows] for rows in sorted(best))


# Clusters of each size that an H200 holds at one block a multiprocessor. Those of three and more
# leave some of every group of multiprocessors idle, and one that finds no room waits for a whole
# wave. Eight blocks are the most that every device grants.
_CLUSTERS = {1: 132, 2: 66, 3: 39, 4: 30, 5: 22, 6: 17, 7: 15, 8: 15}

# Steps below which a block spends more on its start than on reading.
_FEWEST_STEPS = 4


def splits_of(tile: SkinnyTile, n: int, k: int, multiprocessors: int) -> int:
    """Return among how many blocks the sum over *k* is split.

    As many as find a multiprocessor each at one time and leave each block enough to read.
    """
    tiles, steps = -(-n // tile.columns), -(-k // tile.k)
    room = (
        most for most, held in _CLUSTERS.items() if tiles * _CLUSTERS[1] <= held * multiprocessors
    )
    splits = max(1, min(max(room, default=1), steps // _FEWEST_STEPS))
    # Rounding the share of each up may leave nothing for the last.
    return -(-steps // -(-steps // splits))


GEMV_ROWS = 4
"""The most rows that are worth multiplying without tensor cores where those cannot read as fast."""


@dataclass(frozen=True)
class GemvLayout:
    """How the threads of a block share a product of very few rows.

    Attributes:
        columns: Columns of the product that a block makes.
        threads: Threads of a block.
        batch: Vectors of each column, or of each row of the second operand, that a thread asks
            for before it uses the first.
    """

    columns: int
    threads: int
    batch: int


def rows_layout(height: int) -> GemvLayout:
    """Return the layout for a second operand stored as (n, k), whose rows are read along k.

    What a thread reads of *height* rows of the first operand serves all its columns.
    """
    return GemvLayout(columns=2 if height == 1 else 4, threads=128, batch=4)


def columns_layout(n: int, height: int) -> GemvLayout:
    """Return the layout for a second operand stored as (k, n).

    A row's share of a block is 64 or 128 bytes; narrower ones make more blocks.
    """
    if n >= 64 * 128:
        return GemvLayout(columns=64, threads=512, batch=8)
    if height == 1:
        return GemvLayout(columns=32, threads=1024, batch=4)
    return GemvLayout(columns=32, threads=512, batch=8)
