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
    skinny_tiles,
    splits_of,
)

H200 = 132
HOPPER_BLOCK, HOPPER_CHIP = 232448, 233472
LEAST_BLOCK = 101376
SIZES = [8, 9, 64, 65, 2112, 4096, 7168, 21843, 24576, 151936]

every_skinny_tile = pytest.mark.parametrize(
    "tile", SKINNY_TILES, ids=lambda tile: f"{tile.rows}x{tile.columns}"
)
every_tma_tile = pytest.mark.parametrize("tile", TMA_TILES, ids=lambda tile: f"{tile.m}x{tile.n}")


@every_tma_tile
def test_a_hopper_tile_fits_a_block(tile):
    """Warpgroups take 64 rows each; a block keeps its result beside the ring."""
    ring = tile.stages * (tile.m + tile.n) * tile.k * 2
    staged = tile.m * tile.n // tile.parts * 2
    # Barriers, in units of 1024 bytes.
    assert ring + staged + 1024 <= HOPPER_BLOCK
    assert tile.threads == tile.m // 64 * 128
    assert tile.n % (8 * tile.parts) == 0
    assert tile.n <= 256
    # Accumulators and addresses of a thread, of the registers that the copying warpgroup leaves.
    assert tile.m * tile.n / tile.threads + 28 <= min(255, 65536 // (tile.threads + 128))


@pytest.mark.parametrize("tile", BOUNDED_TILES, ids=lambda tile: f"{tile.m}x{tile.n}")
def test_a_general_tile_fits_every_board(tile):
    """The ring and the result fit the smallest shared memory of the boards."""
    ring = tile.stages * (tile.m + tile.n) * tile.k * 2
    assert max(ring, tile.m * tile.n * 2) <= LEAST_BLOCK


@every_skinny_tile
def test_skinny_blocks_share_a_multiprocessor(tile):
    """As many as are meant to be resident fit, with the kilobyte that each reserves."""
    ring = tile.stages * (tile.rows + tile.columns) * tile.k * 2
    part = tile.rows * (tile.columns + 4) * 4
    assert tile.resident * (max(ring, part) + 2048) <= HOPPER_CHIP
    # A warpgroup takes 64 columns of the result at a time.
    assert tile.columns % (tile.threads // 2) == 0
    assert tile.rows * tile.columns / tile.threads <= 128


@pytest.mark.parametrize("n", SIZES)
def test_skinny_tiles_cover_their_rows(n):
    """Every number of rows that is served has a tile with room for it, and none is too small."""
    rooms = [tile.rows for tile in skinny_tiles(n, H200)]
    assert rooms == sorted(set(rooms))
    assert rooms[-1] == SKINNY_ROWS
    assert rooms[0] > GEMV_ROWS


@every_skinny_tile
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
    ("n", "rows", "columns"),
    [
        pytest.param(2112, 64, 64, id="few-columns"),
        pytest.param(132 * 64, 64, 64, id="a-block-a-multiprocessor"),
        pytest.param(132 * 64 + 1, 64, 192, id="more-than-are-resident"),
        pytest.param(24576, 128, 192, id="128-rows"),
        pytest.param(24576, 16, 64, id="no-wider-one"),
        pytest.param(151936, 64, 192, id="else-the-widest"),
    ],
)
def test_wider_tiles_where_there_are_columns_enough(n, rows, columns):
    """Narrow blocks are taken as long as they find room at one time."""
    (tile,) = (one for one in skinny_tiles(n, H200) if one.rows == rows)
    assert tile.columns == columns


@pytest.mark.parametrize(
    ("n", "k", "splits"),
    [
        pytest.param(24576, 4096, 1, id="enough-columns"),
        pytest.param(7168, 2048, 1, id="more-than-half-enough"),
        pytest.param(66 * 64, 7168, 2, id="half-enough"),
        pytest.param(66 * 64 + 1, 7168, 1, id="just-more-than-half"),
        pytest.param(39 * 64, 7168, 3, id="all-clusters-of-three-that-find-room"),
        pytest.param(39 * 64 + 1, 7168, 2, id="one-more"),
        pytest.param(2112, 7168, 3, id="not-a-quarter-as-30-clusters-find-room"),
        pytest.param(30 * 64, 7168, 4, id="a-quarter"),
        pytest.param(64, 65536, 8, id="no-more-than-a-cluster"),
        pytest.param(64, 256, 1, id="too-short-to-split"),
    ],
)
def test_splits_fill_the_multiprocessors(n, k, splits):
    """Few columns are split until no more clusters find room at one time, or parts are short."""
    assert splits_of(SKINNY_TILES[0], n, k, H200) == splits


@pytest.mark.parametrize(
    ("m", "n", "k", "shape"),
    [
        pytest.param(4096, 24576, 1536, (128, 256), id="many-waves"),
        pytest.param(4096, 4096, 4096, (128, 256), id="4-waves"),
        pytest.param(4096, 2112, 7168, (192, 176), id="2-full-waves-of-the-largest"),
        pytest.param(4096, 7168, 16384, (128, 176), id="10-waves-of-narrow-ones"),
        pytest.param(1024, 1024, 1024, (64, 128), id="one-wave-of-small-ones"),
        pytest.param(8192, 8192, 8192, (128, 224), id="18-full-waves-before-16-of-15.5"),
        pytest.param(512, 7168, 2048, (128, 224), id="one-wave-of-wide-ones"),
        pytest.param(2048, 2112, 7168, (192, 176), id="one-wave-of-the-largest"),
        pytest.param(256, 2112, 7168, (64, 64), id="one-wave-of-the-smallest"),
        pytest.param(256, 4096, 4096, (64, 128), id="two-rows-of-128"),
        pytest.param(1, 8, 8, (64, 64), id="one-element"),
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


@pytest.mark.parametrize("height", [1, GEMV_ROWS])
@pytest.mark.parametrize("n", SIZES)
def test_gemv_layouts(n, height):
    """A warp's lanes share columns evenly, and a block has a thread for each of its results."""
    for layout in (rows_layout(height), columns_layout(n, height)):
        assert layout.threads % 32 == 0
        assert layout.columns * height <= layout.threads
        assert layout.batch >= 1
    lanes = columns_layout(n, height).columns // 8
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
