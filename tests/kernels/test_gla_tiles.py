"""How the programs of gated linear attention are cut, for every width on every architecture."""

import pytest

from tileops.kernels.linear_attention.programs.gla_tiles import (
    ChunkTiles,
    Partitions,
    chunk_tiles,
    decode_tiles,
    partitions,
)

WIDTHS = (32, 64, 128, 256)
ARCHS = (80, 86, 89, 90)
TILES = ChunkTiles(64, 16, 128, 256, summing=2)


@pytest.mark.parametrize("dim_k", WIDTHS)
@pytest.mark.parametrize("dim_v", WIDTHS)
def test_a_step_reads_the_state_in_whole_accesses(dim_k, dim_v):
    """Blocks cut the values evenly, and their threads' accesses are the block's state, exactly."""
    for sequences in (1, 2, 16, 64, 65, 264, 4096):
        tiles = decode_tiles(dim_k, dim_v, sequences, 132)
        assert dim_v % tiles.width == 0
        assert tiles.width >= 32
        assert tiles.threads * tiles.vectors * 4 == dim_k * tiles.width
        assert tiles.threads % 32 == 0
        assert tiles.threads <= 1024
        # The threads of one row are a power of two within a warp.
        assert 32 % (tiles.width // 4) == 0


@pytest.mark.parametrize(
    ("sequences", "width"),
    [
        pytest.param(1, 32, id="one-sequence"),
        pytest.param(32, 32, id="one-batch-element"),
        pytest.param(131, 32, id="not-two-blocks-each"),
        pytest.param(132, 64, id="two-blocks-each-of-half-a-row"),
        pytest.param(263, 64, id="just-under-two-whole-rows-each"),
        pytest.param(264, 128, id="two-blocks-each-of-whole-rows"),
        pytest.param(4096, 128, id="many"),
    ],
)
def test_few_sequences_are_spread_over_more_blocks(sequences, width):
    """A block owns whole rows only where there are two blocks for every multiprocessor."""
    assert decode_tiles(128, 128, sequences, 132).width == width


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dim_k", WIDTHS)
@pytest.mark.parametrize("dim_v", WIDTHS)
def test_chunks_divide_evenly_among_threads(dim_k, dim_v, arch):
    """Runs of two columns, 16-byte copies and the rows of a warp's product come out even."""
    tiles = chunk_tiles(dim_k, dim_v, arch)
    runs = tiles.chunk // tiles.run
    assert tiles.chunk == 2**tiles.levels
    assert tiles.run == 2**tiles.local_levels
    assert (dim_k // 2 * runs) % tiles.threads == 0
    assert dim_k // 2 * runs >= tiles.threads
    assert (tiles.chunk * dim_k // 8) % tiles.threads == 0
    assert (tiles.chunk * tiles.width // 8) % tiles.threads == 0
    assert tiles.width == 16 * (tiles.threads // 32)
    # Whole warpgroups, of whose products Hopper's tensor cores compute 64 rows each.
    assert tiles.threads % 128 == 0


@pytest.mark.parametrize(
    ("chunks", "blocks", "expected"),
    [
        pytest.param(0, 16, Partitions(1, 0), id="no-step"),
        pytest.param(1, 1, Partitions(1, 1), id="one-chunk"),
        pytest.param(16, 16, Partitions(8, 2), id="eight-parts-fill-the-device"),
        pytest.param(32, 16, Partitions(8, 4), id="2k"),
        pytest.param(56, 16, Partitions(8, 7), id="just-too-short-for-pieces"),
        pytest.param(64, 16, Partitions(8, 8, 2), id="two-pieces-of-four-chunks"),
        pytest.param(512, 16, Partitions(8, 64, 2), id="32k"),
        pytest.param(513, 16, Partitions(8, 66, 2), id="an-odd-chunk-more"),
        pytest.param(17, 16, Partitions(6, 3), id="fewer-parts-where-chunks-are-few"),
        pytest.param(2048, 4, Partitions(32, 64, 2), id="four-heads"),
        pytest.param(512, 66, Partitions(2, 256, 2), id="two-parts"),
        pytest.param(512, 67, Partitions(1, 512), id="more-than-half-the-device"),
        pytest.param(512, 1000, Partitions(1, 512), id="more-than-the-device"),
    ],
)
def test_parts(chunks, blocks, expected):
    """As many parts as keep 132 multiprocessors busy once, none of them empty."""
    assert partitions(chunks, blocks, 132, TILES) == expected


@pytest.mark.parametrize("blocks", [1, 3, 16, 64, 200])
def test_parts_cover_the_sequence(blocks):
    """Every part but the last is whole, and the last has a chunk at least."""
    for chunks in range(1, 300):
        cut = partitions(chunks, blocks, 132, TILES)
        assert (cut.count - 1) * cut.span < chunks <= cut.count * cut.span
        assert cut.count == 1 or cut.count * blocks <= 132
        assert cut.span % cut.pieces == 0
        assert cut.states == (cut.count - 1) * cut.pieces + 1


@pytest.mark.parametrize(
    ("dim_k", "dim_v", "arch", "expected"),
    [
        pytest.param(128, 128, 90, TILES, id="90-128"),
        pytest.param(128, 64, 90, ChunkTiles(64, 16, 64, 128, summing=2), id="90-narrow-values"),
        pytest.param(64, 64, 90, ChunkTiles(32, 8, 64, 128, 4, 8), id="90-64"),
        pytest.param(64, 128, 90, ChunkTiles(64, 8, 128, 256), id="90-wide-values"),
        pytest.param(256, 256, 90, ChunkTiles(32, 16, 128, 256), id="90-256"),
        pytest.param(256, 64, 90, ChunkTiles(32, 8, 64, 128), id="90-wide-keys"),
        pytest.param(32, 32, 90, ChunkTiles(64, 8, 64, 128), id="90-32"),
        pytest.param(128, 128, 80, ChunkTiles(32, 8, 64, 128), id="80-128"),
        pytest.param(64, 64, 86, ChunkTiles(32, 8, 64, 128), id="86-64"),
    ],
)
def test_chunks_are_as_measured(dim_k, dim_v, arch, expected):
    """Hopper walks 64 steps at a time, or four blocks of 32 where keys and values are narrow."""
    assert chunk_tiles(dim_k, dim_v, arch) == expected
