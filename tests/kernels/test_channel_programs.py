"""The programs over channels: their layouts, and that they compile for every architecture."""

import math

import pytest

from tileops.device import DeviceFacts
from tileops.kernels.compile import OWN_BARRIERS, lower, nvcc
from tileops.kernels.norm.programs import (
    batch_norm_bwd,
    batch_norm_bwd_split,
    batch_norm_infer,
    batch_norm_split,
    batch_norm_train,
    instance_averages,
    instance_norm,
)
from tileops.kernels.norm.programs.channel_layout import in_cluster, on_chip, parts, passing
from tileops.kernels.norm.programs.channel_normal import Factors
from tileops.kernels.norm.programs.channel_planes import Planes, chunk, side_by_side
from tileops.kernels.norm.programs.infer_layout import infer_layout
from tileops.kernels.norm.programs.instance_norm import TENSORS
from tileops.kernels.norm.programs.row_layout import row_layout
from tileops.kernels.norm.programs.standing_layout import standing_layout

BUDGET = {80: 163 << 10, 86: 99 << 10, 89: 99 << 10, 90: 227 << 10}
SM_THREADS = {80: 2048, 86: 1536, 89: 1536, 90: 2048}
SIZES = [
    (n, c, spatial)
    for n in (1, 2, 5, 32, 33, 256, 1000)
    for c in (1, 3, 8, 64, 2048)
    for spatial in (1, 2, 7, 8, 49, 63, 64, 196, 319, 320, 321, 784, 3136, 12544, 65537)
]
EVERYTHING = Factors(weight=True, bias=True, running=True)
ALL = (True, True, True)

needs_nvcc = pytest.mark.skipif(nvcc() is None, reason="compiling needs nvcc")


def facts_of(arch):
    return DeviceFacts(arch=arch, sm_count=100, smem_budget=BUDGET[arch])


def planes_of(n, c, spatial, itemsize, streams=1):
    return Planes(n, c, spatial, itemsize, side_by_side(spatial, itemsize), streams)


def within_the_device(layout, planes, arch):
    """Assert what holds of every layout; return the items of a block."""
    assert layout.vector * planes.itemsize <= 16
    whole = planes.channels * planes.spatial if planes.by_columns else planes.spatial
    assert whole % layout.vector == 0
    assert layout.threads % 32 == 0
    assert 32 <= layout.threads <= 512
    assert layout.threads * layout.resident <= SM_THREADS[arch]
    if planes.by_columns:
        assert layout.lanes * layout.vector == layout.group * planes.spatial
        assert layout.rows * layout.lanes <= layout.threads
    else:
        assert (layout.group, layout.lanes) == (1, 0)
    return chunk(planes.items, layout.cluster, planes.by_columns)


@pytest.mark.parametrize("arch", BUDGET)
@pytest.mark.parametrize("itemsize", [2, 4])
@pytest.mark.parametrize("streams", [1, 2])
def test_what_waits_on_the_chip_fits_it(arch, itemsize, streams):
    """A block stages all of its items, and leaves memory for the statistics."""
    facts, found = facts_of(arch), 0
    for size in SIZES:
        planes = planes_of(*size, itemsize, streams)
        staged = [on_chip(planes, facts)]
        if arch >= 90:
            staged.append(in_cluster(planes, facts))
        for layout in staged:
            if layout is None:
                continue
            found += 1
            assert within_the_device(layout, planes, arch) <= layout.capacity
            assert 1 <= layout.cluster <= (16 if arch >= 90 else 1)
            data = layout.staged * layout.vector * itemsize * streams
            units = layout.vector // math.gcd(layout.vector, size[2])
            entries = layout.rows * layout.lanes * units
            board = 2 * entries + 3 * layout.threads // 32 + (4 * layout.cluster + 3) * layout.group
            assert data + 4 * board <= BUDGET[arch]
    assert found > 100


@pytest.mark.parametrize("arch", BUDGET)
@pytest.mark.parametrize("itemsize", [2, 4])
def test_what_waits_nowhere_has_a_layout_and_parts(arch, itemsize):
    """Every size can be read twice, by as many blocks as there are items at most."""
    facts = facts_of(arch)
    for size in SIZES:
        planes = planes_of(*size, itemsize)
        layout = passing(planes, facts)
        within_the_device(layout, planes, arch)
        assert layout.per == 0
        count = parts(planes, layout, facts, 128)
        assert 1 <= count <= min(128, planes.items)
        share = chunk(planes.items, count, planes.by_columns)
        assert share * count >= planes.items


def test_batch_sizes_near_each_other_share_a_layout():
    """A batch that is a little larger needs no other program."""
    facts = facts_of(90)
    layouts = {on_chip(planes_of(n, 64, 784, 2), facts) for n in range(1, 129)}
    assert len(layouts) <= 24


@pytest.mark.parametrize("streams", [1, 2])
@pytest.mark.parametrize("itemsize", [2, 4])
def test_features_of_batches_and_numbers_share_a_layout(itemsize, streams):
    """Data without planes has one for every power of two of samples, whatever the channels."""
    facts = facts_of(90)
    layouts = {
        on_chip(planes_of(n, c, 1, itemsize, streams), facts)
        for n in range(33, 289)
        for c in (8, 64, 72, 400)
    }
    assert len(layouts) == 4
    assert {one.rows for one in layouts} == {64, 128, 256, 416}


@pytest.mark.parametrize(
    ("n", "c", "spatial", "blocks"),
    [
        pytest.param(42, 512, 784, 2, id="65-KB"),
        pytest.param(64, 512, 784, 2, id="100-KB"),
        pytest.param(32, 256, 3136, 4, id="200-KB"),
        pytest.param(32, 64, 12544, 16, id="800-KB"),
        pytest.param(8, 2, 3136, 4, id="few-channels-fill-the-device"),
        pytest.param(32, 50, 3136, 8, id="50-channels-by-eight-blocks-each"),
        pytest.param(32, 101, 3136, 4, id="more-channels-by-size"),
    ],
)
def test_blocks_that_share_a_channel(n, c, spatial, blocks):
    """Each stages 64 KiB at most, or less where channels are few."""
    assert in_cluster(planes_of(n, c, spatial, 2), facts_of(90)).cluster == blocks


@pytest.mark.parametrize("itemsize", [2, 4])
def test_every_size_is_normalized_by_given_statistics(itemsize):
    """Accesses divide a plane, or a sample whose planes are walked together."""
    for n, c, spatial in SIZES:
        layout = infer_layout(n, c, spatial, itemsize, facts_of(90))
        assert (spatial if layout.by_planes else c * spatial) % layout.vector == 0
        assert layout.vector * itemsize <= 16
        assert 1 <= layout.depth <= 4
        assert layout.threads % 32 == 0
        assert layout.beside == 1 or layout.beside * c * spatial // layout.vector <= layout.threads


@pytest.mark.parametrize(
    ("n", "c", "beside"),
    [
        pytest.param(100000, 8, 128, id="one-access"),
        pytest.param(1, 8, 128, id="whatever-the-batch"),
        pytest.param(100000, 512, 2, id="half-a-block"),
        pytest.param(100000, 520, 1, id="more"),
    ],
)
def test_short_samples_lie_side_by_side(n, c, beside):
    """As many as a block has threads for their accesses."""
    assert infer_layout(n, c, 1, 2, facts_of(90)).beside == beside


def test_a_block_leaves_room_for_others_on_its_multiprocessor():
    """Items are rounded up only as far as no block less fits, and all of them fit."""
    layout = on_chip(planes_of(32, 512, 784, 2), facts_of(90))
    assert (layout.threads, layout.per, layout.resident) == (256, 13, 4)
    layout = in_cluster(planes_of(256, 256, 3136, 2), facts_of(90))
    assert (layout.cluster, layout.threads, layout.resident) == (16, 512, 2)


@pytest.mark.parametrize(
    ("n", "streams", "threads", "per"),
    [
        pytest.param(32, 1, 512, 4, id="12-KB"),
        pytest.param(32, 2, 512, 4, id="twice-12-KB"),
        pytest.param(83, 1, 512, 8, id="32-KB"),
        pytest.param(84, 1, 256, 20, id="more-of-which-five-keep-160-KB"),
    ],
)
def test_short_channels_take_most_threads(n, streams, threads, per):
    """However few blocks a multiprocessor then holds; those of longer ones fill its memory."""
    layout = on_chip(planes_of(n, 1024, 196, 2, streams), facts_of(90))
    assert (layout.threads, layout.per) == (threads, per)


@pytest.mark.parametrize(
    ("n", "spatial", "itemsize", "cluster", "threads"),
    [
        pytest.param(133, 196, 2, 8, 320, id="14x14"),
        pytest.param(256, 196, 2, 16, 224, id="14x14-of-256-samples"),
        pytest.param(100, 316, 2, 8, 320, id="longest-planes"),
        pytest.param(100, 150, 4, 8, 320, id="float32"),
    ],
)
def test_channels_that_go_together_are_walked_by_columns(n, spatial, itemsize, cluster, threads):
    """Four planes of half an access beyond whole ones are whole sectors, by whole accesses."""
    layout = in_cluster(Planes(n, 1024, spatial, itemsize, True, 2), facts_of(90))
    assert (layout.vector * itemsize, layout.group) == (16, 4)
    assert layout.group * spatial * itemsize % 32 == 0
    assert (layout.cluster, layout.threads) == (cluster, threads)


def lowered(name, arch, dtype="float16", n=32, c=64, spatial=784):
    """Compile the programs of one name for one architecture."""
    facts, itemsize = facts_of(arch), 4 if dtype == "float32" else 2
    one, two = planes_of(n, c, spatial, itemsize), planes_of(n, c, spatial, itemsize, 2)
    make = {
        "train": lambda: batch_norm_train.program(
            spatial, 1e-5, 0.1, dtype, on_chip(one, facts), EVERYTHING
        ),
        "train-cluster": lambda: batch_norm_train.program(
            spatial, 1e-5, 0.1, dtype, in_cluster(one, facts), EVERYTHING
        ),
        "train-twice": lambda: batch_norm_train.program(
            spatial, 1e-5, 0.1, dtype, passing(one, facts), EVERYTHING
        ),
        "sum": lambda: batch_norm_split.summing(spatial, dtype, passing(one, facts)),
        "merge": lambda: batch_norm_split.merging(
            spatial, 1e-5, 0.1, dtype, passing(one, facts), EVERYTHING
        ),
        "infer": lambda: batch_norm_infer.program(
            spatial, 1e-5, dtype, infer_layout(n, c, spatial, itemsize, facts), True, True
        ),
        "bwd": lambda: batch_norm_bwd.program(spatial, dtype, on_chip(two, facts), True),
        "bwd-cluster": lambda: batch_norm_bwd.program(spatial, dtype, in_cluster(two, facts), True),
        "bwd-sum": lambda: batch_norm_bwd_split.summing(spatial, dtype, passing(two, facts)),
        "bwd-merge": lambda: batch_norm_bwd_split.merging(
            spatial, dtype, passing(two, facts), True
        ),
        "instance": lambda: instance_norm.program(
            spatial, 1e-5, dtype, row_layout(spatial, itemsize, arch, BUDGET[arch], TENSORS), *ALL
        ),
        "averages": lambda: instance_averages.program(0.1, arch),
    }[name]
    code = lower(make(), arch, OWN_BARRIERS)
    assert code.cubin
    assert code.shared <= BUDGET[arch]
    assert code.spilled == 0
    return code


@needs_nvcc
@pytest.mark.parametrize("arch", BUDGET)
@pytest.mark.parametrize("name", ["train", "merge", "infer", "bwd", "instance"])
def test_the_program_compiles_for_every_architecture(name, arch):
    """Its shared memory fits and no register spills."""
    lowered(name, arch, n=8)


@pytest.mark.slow
@needs_nvcc
@pytest.mark.parametrize("arch", BUDGET)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(
    "spatial", [pytest.param(49, id="columns"), pytest.param(784, id="planes")]
)
@pytest.mark.parametrize(
    "name",
    [
        "train",
        "train-twice",
        "sum",
        "merge",
        "infer",
        "bwd",
        "bwd-sum",
        "bwd-merge",
        "instance",
        "averages",
    ],
)
def test_every_program_compiles_for_every_dtype(name, spatial, dtype, arch):
    """Whether planes or columns are walked."""
    lowered(name, arch, dtype, n=8, spatial=spatial)


@needs_nvcc
@pytest.mark.parametrize(
    ("name", "n", "spatial"),
    [
        pytest.param("train-cluster", 128, 784, id="planes"),
        pytest.param("bwd-cluster", 256, 49, id="columns"),
    ],
)
def test_clusters_compile(name, n, spatial):
    """A cluster waits for its predecessor before it reads, and for its blocks before it writes."""
    source = lowered(name, 90, n=n, spatial=spatial).source
    text = source[source.rindex("main_kernel(") :]
    assert text.index("cudaGridDependencySynchronize") < text.index("copy_async<16>")
    assert text.index("cluster_arrive_relaxed") < text.index("copy_async<16>")
    assert text.index("cluster_wait") < text.index("store_in_block") < text.rindex("cluster_wait")


@needs_nvcc
def test_blocks_that_stay_compile():
    """A piece is brought in anew only after its lanes have read it."""
    layout = standing_layout(planes_of(256, 256, 3136, 2, 2), facts_of(90))
    code = lower(batch_norm_bwd.program(3136, "float16", layout, True), 90, OWN_BARRIERS)
    assert code.shared <= BUDGET[90]
    assert code.spilled == 0
    text = code.source[code.source.rindex("main_kernel(") :]
    assert text.index("fence_pieces") < text.rindex("__syncwarp") < text.rindex("copy_piece")


@pytest.mark.parametrize("n", [1, 5, 250, 256])
@pytest.mark.parametrize("spatial", [512, 3136, 8064, 12544, 16000])
def test_what_waits_in_standing_blocks_fits_them(n, spatial):
    """Pieces are equal, of whole accesses, and all that a block has are some warp's."""
    layout = standing_layout(planes_of(n, 256, spatial, 2, 2), facts_of(90))
    piece = spatial * 2 // layout.parts
    assert piece * layout.parts == spatial * 2
    assert piece % 16 == 0
    assert 1 << 10 <= piece <= 4 << 10
    pieces = -(-n // layout.cluster) * layout.parts
    staged = layout.per * (layout.threads // 32)
    assert pieces <= staged < pieces + layout.threads // 32


def test_standing_clusters_leave_room_for_uneven_multiprocessors():
    """One cluster less than their number divides into, or the last would wait for the others."""
    device = DeviceFacts(arch=90, sm_count=132, smem_budget=BUDGET[90])
    layout = standing_layout(planes_of(256, 256, 3136, 2, 2), device)
    assert (layout.cluster, layout.parts, layout.per, layout.standing) == (16, 2, 4, 7)


@needs_nvcc
def test_short_planes_are_moved_sixteen_bytes_at_a_time():
    """Planes of 49 16-bit elements are copied in, and written, by whole accesses."""
    source = lowered("train", 90, n=8, spatial=49).source
    text = source[source.rindex("main_kernel(") :]
    assert "copy_async<16>" in text
    assert "store_whole<16>" in text


def test_an_access_falls_into_units_of_one_channel():
    """As long as planes and accesses both are multiples of one."""
    assert planes_of(2, 8, 49, 2).units == 8
    assert planes_of(2, 8, 36, 2).units == 2
    assert planes_of(2, 8, 36, 2).group == 4
    assert planes_of(2, 8, 8, 2).units == 1
    assert planes_of(2, 8, 49, 4).units == 4


def test_vectors_divide_what_is_walked():
    """A sample of three odd planes is odd; one of eight is whole accesses."""
    assert planes_of(2, 3, 49, 2).vector == 1
    assert planes_of(2, 8, 49, 2).vector == 8
    assert planes_of(2, 8, 49, 2).group == 8
    assert planes_of(2, 2, 98, 2).vector == 4
    assert planes_of(2, 2, 98, 2).group == 2
    assert planes_of(2, 2, 196, 2).vector == 4
    assert planes_of(2, 2, 196, 2).group == 1
