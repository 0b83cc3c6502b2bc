"""The shapes in which matrix products are cut: they fit the chip, cover the product, end soon."""

from types import SimpleNamespace

import pytest

from tileops.kernels.gemm.programs.order import tile_at
from tileops.kernels.gemm.tiles import (
    BOUNDED_TILES,
    GEMV_ROWS,
    SKINNY_ROWS,
    SKINNY_TILES,
    TMA_TILES,
    Tile,
    bounded,
    columns_layout,
    quickest,
    rows_layout,
    splits_of,
)

H200 = 132
HOPPER_BLOCK, HOPPER_CHIP = 232448, 233472
LEAST_BLOCK = 101376
SIZES = [8, 9, 64, 65, 2112, 4096, 7168, 21843, 24576, 151936]

every_tma_tile = pytest.mark.parametrize("tile", TMA_TILES, ids=lambda tile: f"{tile.m}x{tile.n}")


@every_tma_tile
def test_a_hopper_tile_fits_a_block(tile):
    """Warpgroups take 64 rows each; a block keeps its result beside the ring."""
    ring = tile.stages * (tile.m + tile.n) * tile.k * 2
    result = tile.m * tile.n * 2
    assert ring + result < HOPPER_BLOCK
    assert tile.threads == tile.m // 64 * 128
    assert tile.n % 8 == 0
    assert tile.n <= 256
    # Accumulators and addresses of a thread; 168 registers are what three warpgroups leave each.
    assert tile.m * tile.n / tile.threads <= 128


@pytest.mark.parametrize("tile", BOUNDED_TILES, ids=lambda tile: f"{tile.m}x{tile.n}")
def test_a_general_tile_fits_every_board(tile):
    """The ring and the result fit the smallest shared memory of the boards."""
    ring = tile.stages * (tile.m + tile.n) * tile.k * 2
    assert max(ring, tile.m * tile.n * 2) <= LEAST_BLOCK


@pytest.mark.parametrize("tile", SKINNY_TILES, ids=lambda tile: f"{tile.rows}")
def test_skinny_blocks_share_a_multiprocessor(tile):
    """As many as are meant to be resident fit, with the kilobyte that each reserves."""
    ring = tile.stages * (tile.rows + tile.columns) * tile.k * 2
    part = tile.rows * (tile.columns + 4) * 4
    assert tile.resident * (max(ring, part) + 2048) <= HOPPER_CHIP
    # A warpgroup takes 64 columns of the result at a time.
    assert tile.columns % (tile.threads // 2) == 0
    assert tile.rows * tile.columns / tile.threads <= 128


def test_skinny_tiles_cover_their_rows():
    """Every number of rows that is served has a tile with room for it, and none is too small."""
    rooms = [tile.rows for tile in SKINNY_TILES]
    assert rooms == sorted(set(rooms))
    assert rooms[-1] == SKINNY_ROWS
    assert rooms[0] > GEMV_ROWS


@pytest.mark.parametrize("tile", SKINNY_TILES, ids=lambda tile: f"{tile.rows}")
@pytest.mark.parametrize("k", [8, 64, 128, 136, 1024, 2048, 4224, 7168, 100000])
@pytest.mark.parametrize("n", SIZES)
def test_splits_leave_every_block_something(tile, n, k):
    """The shares cover the sum, the last is not empty, and a cluster is of a portable size."""
    splits = splits_of(tile, n, k, H200)
    steps = -(-k // tile.k)
    share = -(-steps // splits)
    assert 1 <= splits <= 8
    assert share * splits >= steps
    assert share * (splits - 1) < steps


@pytest.mark.parametrize(
    ("n", "k", "splits"),
    [
        pytest.param(24576, 4096, 1, id="enough-columns"),
        pytest.param(16384, 2048, 2, id="half-enough"),
        pytest.param(7168, 2048, 4, id="a-quarter"),
        pytest.param(2112, 7168, 8, id="few-columns"),
        pytest.param(64, 65536, 8, id="no-more-than-a-cluster"),
        pytest.param(64, 256, 1, id="too-short-to-split"),
    ],
)
def test_splits_fill_the_multiprocessors(n, k, splits):
    """Few columns are split into more parts, until the parts become short."""
    assert splits_of(SKINNY_TILES[0], n, k, H200) == splits


@pytest.mark.parametrize(
    ("m", "n", "k", "shape"),
    [
        pytest.param(8192, 8192, 8192, (128, 256), id="16-waves"),
        pytest.param(4096, 4096, 4096, (128, 256), id="4-waves"),
        pytest.param(4096, 2112, 7168, (128, 176), id="3-full-waves"),
        pytest.param(1024, 1024, 1024, (64, 128), id="one-wave-of-small-ones"),
        pytest.param(2048, 7168, 2048, (128, 176), id="5-full-waves-before-4-of-3.4"),
        pytest.param(256, 4096, 4096, (64, 128), id="two-rows-of-128"),
        pytest.param(1, 8, 8, (64, 128), id="one-element"),
    ],
)
def test_the_quickest_tile(m, n, k, shape):
    """Large products take large tiles; small ones take those that fill the multiprocessors."""
    tile = quickest(TMA_TILES, m, n, k, H200)
    assert (tile.m, tile.n) == shape


def test_a_wave_less_is_quicker():
    """Of two tiles of one speed that differ in waves the one with fewer wins."""
    narrow = Tile(m=128, n=64, k=64, stages=4, threads=256)
    wide = Tile(m=128, n=128, k=64, stages=4, threads=256)
    # 133 narrow tiles take two waves, as 67 wide ones take one.
    assert quickest((narrow, wide), 128, 133 * 64, 4096, H200) is wide
    assert quickest((wide, narrow), 128, 132 * 64, 4096, H200) is narrow


@pytest.mark.parametrize(
    ("m", "rows"), [(1, 32), (64, 32), (65, 128), (4096, 128)], ids=["1", "64", "65", "4096"]
)
def test_the_general_tile(m, rows):
    """Up to two small tiles of rows are made by small ones."""
    assert bounded(m).m == rows


@pytest.mark.parametrize("k", [8, 4096, 7168, 100000])
@pytest.mark.parametrize("n", SIZES)
def test_gemv_layouts(n, k):
    """A warp's lanes share columns evenly, and a block has a thread for each of its results."""
    for layout in (rows_layout(n, k), columns_layout(n, k)):
        assert layout.threads % 32 == 0
        assert layout.columns * GEMV_ROWS <= layout.threads
        assert layout.batch >= 1
    lanes = columns_layout(n, k).columns // 8
    assert lanes in (4, 8)


INTEGERS = SimpleNamespace(
    min=min, truncmod=lambda one, other: one % other, truncdiv=lambda one, other: one // other
)
"""What `tile_at` asks of TileLang, on numbers."""


@pytest.mark.parametrize("columns", [1, 2, 9, 33])
@pytest.mark.parametrize("rows", [1, 7, 15, 16, 17, 32, 40])
def test_every_tile_has_one_place(rows, columns):
    """The order goes through the tiles without leaving one out, whatever their numbers."""
    tiles = [tile_at(INTEGERS, place, rows, columns) for place in range(rows * columns)]
    assert sorted(tiles) == [(row, column) for row in range(rows) for column in range(columns)]


def test_neighbours_in_the_order_share_operands():
    """132 tiles in a row touch about as few rows and columns as they can."""
    tiles = [tile_at(INTEGERS, place, 64, 32) for place in range(132)]
    rows, columns = ({tile[axis] for tile in tiles} for axis in (0, 1))
    assert (len(rows), len(columns)) == (16, 9)
