"""How attention is cut into tiles and splits, on every board and for every width of head."""

import itertools

import pytest

from tileops.kernels.attention.gqa.tiling import (
    bs1_cluster,
    clusters_for,
    clusters_win,
    decode_tiling,
    fp8_tiling,
    head_tiles,
    part_places,
    prefill_tiling,
    row_stride,
    shared_floats,
)

BUDGET = {80: 163 << 10, 89: 99 << 10, 90: 227 << 10}
SM_SHARED = {80: 164 << 10, 89: 100 << 10, 90: 228 << 10}
WIDTHS = range(8, 257, 8)
TILING = decode_tiling(128, 2, 90, BUDGET[90])


@pytest.mark.parametrize("arch", BUDGET)
@pytest.mark.parametrize("itemsize", [1, 2])
def test_every_width_has_a_decode_tiling_that_its_device_can_run(arch, itemsize):
    """The staged tiles of the blocks that share a multiprocessor fit it."""
    for dim in WIDTHS:
        for cluster in (1, 8, 16) if arch == 90 else (1,):
            tiling = decode_tiling(dim, itemsize, arch, BUDGET[arch], cluster)
            staged = tiling.warps * tiling.stages * 2 * tiling.keys * dim * itemsize
            assert staged <= BUDGET[arch]
            assert tiling.resident * staged <= SM_SHARED[arch]
            assert tiling.cluster == cluster
            assert tiling.threads == 32 * tiling.warps
            assert tiling.keys % 16 == 0
            assert tiling.stages >= 2


@pytest.mark.parametrize("arch", BUDGET)
@pytest.mark.parametrize("capped", [False, True])
def test_every_width_has_tiles_of_queries_and_keys_that_fit(arch, capped):
    """Queries, and each stage's keys and values, lie in shared memory; warps have whole rows."""
    for dim in WIDTHS:
        tiling = prefill_tiling(dim, arch, BUDGET[arch], capped=capped)
        stages = tiling.stages if arch == 90 else 1
        staged = 2 * dim * (tiling.queries + 2 * stages * tiling.keys)
        assert staged <= BUDGET[arch]
        assert tiling.queries % (tiling.threads // 32 * 16) == 0
        fp8 = fp8_tiling(dim, BUDGET[90])
        assert 3 * dim * (fp8.queries + 2 * fp8.keys) <= BUDGET[90]


@pytest.mark.parametrize("itemsize", [1, 2])
@pytest.mark.parametrize("width", range(16, 257, 16))
def test_rows_of_a_staged_tile_lie_in_different_banks(width, itemsize):
    """Eight rows at one column touch every group of four banks once, whatever the width."""
    stride = row_stride(width, itemsize) * itemsize
    assert stride >= width * itemsize
    assert stride % 16 == 0
    assert {row * stride // 16 % 8 for row in range(8)} == set(range(8))


@pytest.mark.parametrize(
    ("dim", "itemsize", "arch", "cluster", "boxes"),
    [
        pytest.param(128, 2, 90, 1, True, id="128"),
        pytest.param(64, 2, 90, 1, True, id="64"),
        pytest.param(192, 2, 90, 1, True, id="192"),
        pytest.param(256, 2, 90, 1, True, id="256"),
        pytest.param(96, 2, 90, 1, False, id="a-part-and-a-half"),
        pytest.param(32, 2, 90, 1, False, id="half-a-part"),
        pytest.param(128, 1, 90, 1, False, id="fp8"),
        pytest.param(128, 2, 90, 16, False, id="cluster"),
        pytest.param(128, 2, 89, 1, False, id="89"),
        pytest.param(128, 2, 80, 1, False, id="80"),
    ],
)
def test_which_tiles_come_in_boxes(dim, itemsize, arch, cluster, boxes):
    """Tensor maps are Hopper's, and take 16-bit heads of whole swizzled parts to lone blocks."""
    tiling = decode_tiling(dim, itemsize, arch, BUDGET[arch], cluster)
    assert tiling.boxes == boxes
    if boxes:
        # A dimension of a box is at most 256, and eight rows of 128 bytes are swizzled together.
        assert tiling.warps * tiling.keys <= 256
        assert tiling.warps * tiling.keys % 8 == 0
        assert shared_floats(16, dim, itemsize, tiling) * 4 >= (
            tiling.stages * 2 * tiling.warps * tiling.keys * dim * 2
        )


LENGTHS = [*range(1, 300), 511, 512, 1023, 1024, 2048, 4096, 4097, 8192, 32768, 131073, 262144]


@pytest.mark.parametrize("pairs", [1, 4, 8, 32, 64, 128, 200, 256, 264, 300, 512, 2048])
@pytest.mark.parametrize("sm_count", [58, 108, 132, 142])
def test_splits(pairs, sm_count):
    """No split is without keys, and splits fill the board without being more than a few waves."""
    for length, cluster in itertools.product(LENGTHS, (1, 8)):
        tiling = decode_tiling(128, 2, 90, BUDGET[90], cluster)
        clusters = clusters_for(pairs, length, 512, tiling, sm_count)
        assert clusters >= 1
        assert (clusters - 1) * tiling.cluster * tiling.warps * tiling.keys < length
        assert clusters == 1 or pairs * clusters * cluster <= 8 * sm_count * tiling.resident


@pytest.mark.parametrize(
    ("pairs", "length", "least", "most"),
    [
        pytest.param(4, 64, 1, 1, id="one-tile-a-warp"),
        pytest.param(4, 4096, 8, 33, id="one-sequence"),
        pytest.param(4, 262144, 30, 66, id="one-long-sequence"),
        pytest.param(128, 8192, 1, 2, id="about-the-board"),
        pytest.param(132, 8192, 1, 1, id="as-many-as-run-at-once"),
        pytest.param(140, 8192, 2, 8, id="a-wave-and-a-bit"),
        pytest.param(256, 4096, 1, 1, id="about-two-waves"),
        pytest.param(320, 4096, 2, 2, id="two-waves-and-a-half"),
        pytest.param(400, 4096, 1, 1, id="three-waves-and-a-bit"),
        pytest.param(4096, 8192, 1, 1, id="many-waves"),
    ],
)
def test_how_many_splits(pairs, length, least, most):
    """Splits keep the board busy where heads alone do not, and none is made otherwise."""
    assert least <= clusters_for(pairs, length, 512, TILING, 132) <= most


@pytest.mark.parametrize(("group", "tiles"), [(1, 1), (8, 1), (16, 1), (17, 2), (32, 2), (71, 5)])
def test_head_tiles(group, tiles):
    """Sixteen query heads of a key head fill a tile."""
    assert head_tiles(group) == tiles


@pytest.mark.parametrize(
    ("pairs", "sm_count", "blocks"),
    [
        (1, 132, 16),
        (4, 132, 16),
        (5, 132, 8),
        (8, 132, 8),
        (9, 132, 4),
        (16, 132, 4),
        (17, 132, 2),
        (33, 132, 2),
        (34, 132, 1),
    ],
)
def test_clusters_of_one_sequence(pairs, sm_count, blocks):
    """Every key head has a cluster, as large as half of the board has room for."""
    assert bs1_cluster(pairs, sm_count) == blocks


@pytest.mark.parametrize(
    ("pairs", "seqlen_kv", "win"),
    [
        pytest.param(4, 512, True, id="few-keys"),
        pytest.param(4, 1024, True, id="two-tiles-a-warp"),
        pytest.param(4, 4096, False, id="many-keys"),
        pytest.param(8, 4096, False, id="smaller-clusters"),
        pytest.param(32, 4096, False, id="clusters-of-two"),
    ],
)
def test_when_clusters_win(pairs, seqlen_kv, win):
    """Clusters merge a short sequence sooner; blocks read a long one faster."""
    assert clusters_win(pairs, seqlen_kv) == win


@pytest.mark.parametrize("cluster", [1, 2, 16])
@pytest.mark.parametrize("rows", [1, 7, 16])
@pytest.mark.parametrize("dim", [8, 72, 128, 256])
def test_parts_lie_side_by_side(cluster, rows, dim):
    """None of what a block merges lies in another's place, and all lies where tiles were staged."""
    tiling = decode_tiling(dim, 2, 90, BUDGET[90], cluster)
    outs, sums, received, received_sums, end = part_places(rows, dim, tiling)
    assert outs == 0
    assert sums - outs >= tiling.warps * rows * dim
    assert received - sums >= tiling.warps * rows * 2
    if cluster > 1:
        assert (received_sums - received) * cluster >= cluster * rows * dim
        assert end - received_sums >= cluster * rows * 2
    assert end <= shared_floats(rows, dim, 2, tiling)
    assert all(place % 4 == 0 for place in (sums, received, received_sums))
