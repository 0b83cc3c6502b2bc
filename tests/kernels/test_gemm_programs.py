"""The programs of the matrix products compile for every architecture, and move whole vectors."""

import dataclasses
import re

import pytest

from tileops.kernels.compile import OWN_BARRIERS, lower, nvcc
from tileops.kernels.gemm.programs import cp_async, gemv, skinny, tma
from tileops.kernels.gemm.programs.build import NO_TMA, OWN_SYNC
from tileops.kernels.gemm.tiles import (
    BOUNDED_TILES,
    GEMV_ROWS,
    SKINNY_TILES,
    TMA_TILES,
    columns_layout,
    rows_layout,
)

BUDGET = {80: 163 << 10, 86: 99 << 10, 89: 99 << 10, 90: 227 << 10}
H200 = 132

pytestmark = pytest.mark.skipif(nvcc() is None, reason="compiling needs nvcc")

every_arch = pytest.mark.parametrize("arch", BUDGET)
every_layout = pytest.mark.parametrize(
    ("trans_a", "trans_b"),
    [
        pytest.param(False, False, id="nn"),
        pytest.param(False, True, id="nt"),
        pytest.param(True, False, id="tn"),
        pytest.param(True, True, id="tt"),
    ],
)


def checked(program, arch, passes):
    """Compile a program; nothing spills and its blocks fit the architecture's boards."""
    code = lower(program, arch, passes)
    assert code.cubin
    assert code.spilled == 0
    assert code.shared <= BUDGET[arch]
    return code.source[code.source.rindex('extern "C" __global__') :]


@every_arch
def test_the_general_program_on_every_architecture(arch):
    """Its copies are asynchronous, of 16 bytes, and its products are mma on every architecture."""
    text = checked(
        cp_async.program(BOUNDED_TILES[1], 1, 4096, 4096, "bfloat16", False, True), arch, NO_TMA
    )
    assert set(re.findall(r"cp_async_gs\w*<(\d+)>", text)) == {"16"}
    assert "mma_sync" in text
    assert "wgmma" not in text


@every_layout
def test_the_general_program_in_every_layout(trans_a, trans_b):
    """Products whose rows are whole vectors move nothing narrower."""
    unit = 8 if trans_a else 1
    program = cp_async.program(BOUNDED_TILES[0], unit, 2112, 1024, "float16", trans_a, trans_b)
    text = checked(program, 86, NO_TMA)
    assert set(re.findall(r"cp_async_gs\w*<(\d+)>", text)) == {"16"}


@pytest.mark.parametrize(
    ("n", "k", "widths"),
    [
        pytest.param(64, 8, {"16"}, id="one-vector"),
        pytest.param(65, 100, {"8"}, id="half-vectors"),
        pytest.param(65, 9, set(), id="elements"),
    ],
)
def test_the_general_program_of_odd_sizes(n, k, widths):
    """It copies by what rows are a multiple of."""
    text = checked(cp_async.program(BOUNDED_TILES[0], 1, n, k, "float16", False, True), 80, NO_TMA)
    assert set(re.findall(r"cp_async_gs\w*<(\d+)>", text)) == widths


@every_arch
def test_the_gemv_programs_on_every_architecture(arch):
    """They read 16 bytes at a time, whichever way the second operand lies."""
    layout = rows_layout(GEMV_ROWS)
    program = gemv.rows_program(layout, GEMV_ROWS, 4096, 4096, "float16", arch)
    text = checked(program, arch, OWN_BARRIERS)
    assert re.search(r"\*\(uint4\*\)\(held \+ .*\*\(uint4\*\)\(B \+", text)
    layout = columns_layout(4096, 1)
    program = gemv.columns_program(layout, 1, 4096, 4096, "bfloat16", arch)
    text = checked(program, arch, OWN_BARRIERS)
    assert re.search(r"\*\(uint4\*\)\(held \+ .*\*\(uint4\*\)\(B \+", text)


@pytest.mark.parametrize(
    "tile",
    [
        pytest.param(
            one, id=f"{one.m}x{one.n}", marks=() if place in (0, 1, 7) else pytest.mark.slow
        )
        for place, one in enumerate(TMA_TILES)
    ],
)
def test_the_tma_program_of_every_tile(tile):
    """A warpgroup of its own copies; each other multiplies 64 rows by all columns at a time."""
    text = checked(tma.program(tile, 4096, 4096, "bfloat16", False, True, H200), 90, OWN_SYNC)
    assert f"kFloat32, 64, {tile.n}, 16," in text
    assert f"__launch_bounds__({tile.threads + 128}" in text
    assert "tma_load(A_desc" in text
    assert "tma_store(D_desc" in text
    assert text.index("cudaGridDependencySynchronize") < text.index("tma_load")
    # Warpgroups meet at barriers of their own alone, after those are set up.
    assert text.count("__syncthreads()") == 1
    assert text.index("__syncthreads()") < text.index("tma_load")
    # Which tile is made is worked out once, not in every step of its sum.
    assert not re.search(r"tma_load\([^;]* / min\(", text)


def test_a_cluster_shares_the_second_operand():
    """One block copies it for both, once the readers in both have released the slot."""
    tile = dataclasses.replace(TMA_TILES[5], cluster=2)
    text = checked(tma.program(tile, 4096, 4096, "bfloat16", False, True, H200), 90, OWN_SYNC)
    assert "tma_load_multicast(B_desc" in text
    assert "empty[0].init(16)" in text
    assert text.index("cudaGridDependencySynchronize") < text.index("tma_load")
    assert text.rindex("cluster_sync") > text.rindex("tma_store")


@every_layout
def test_the_tma_program_in_every_layout(trans_a, trans_b):
    """Each layout is multiplied as it is stored."""
    program = tma.program(TMA_TILES[6], 2112, 1024, "float16", trans_a, trans_b, H200)
    text = checked(program, 90, OWN_SYNC)
    assert f"64, 128, 16, {str(trans_a).lower()}, {str(not trans_b).lower()}, 1, 1>" in text


@pytest.mark.parametrize(
    "tile",
    [
        pytest.param(one, id=f"{one.m}x{one.n}", marks=() if one.n == 176 else pytest.mark.slow)
        for one in TMA_TILES
    ],
)
def test_the_tma_program_of_odd_columns(tile):
    """Rows of the result that are no multiple of 16 bytes are stored by the threads."""
    text = checked(tma.program(tile, 21843, 1024, "float16", False, True, H200), 90, OWN_SYNC)
    assert "tma_load(B_desc" in text
    assert "tma_store(" not in text


@pytest.mark.parametrize(
    "tile",
    [
        pytest.param(
            one,
            id=f"{one.rows}x{one.columns}",
            marks=() if place in (0, 5) else pytest.mark.slow,
        )
        for place, one in enumerate(SKINNY_TILES)
    ],
)
def test_the_skinny_program_of_every_tile(tile):
    """Its columns take the 64 rows of a warpgroup, and its blocks share a multiprocessor."""
    text = checked(skinny.program(tile, 4, 2112, 7168, "bfloat16", False, True), 90, {})
    assert f"kFloat32, 64, {tile.rows}, 16," in text
    assert f"__launch_bounds__({tile.threads + 128}, {tile.resident})" in text


def test_a_split_waits_for_its_predecessor_and_its_cluster():
    """Clusters may start early, so they wait; parts are read only between two waits of all."""
    text = checked(skinny.program(SKINNY_TILES[0], 8, 2112, 7168, "float16", False, True), 90, {})
    assert text.index("cudaGridDependencySynchronize") < text.index("tma_load")
    assert text.count("cluster_sync") == 2
    first, last = (one.start() for one in re.finditer("cluster_sync", text))
    assert first < text.index("add_from_block") < last


def test_one_part_needs_no_cluster():
    """Where the columns alone fill the chip nothing is exchanged."""
    text = checked(skinny.program(SKINNY_TILES[0], 1, 2112, 64, "float16", False, True), 90, {})
    assert "cluster" not in text
    assert text.index("cudaGridDependencySynchronize") < text.index("tma_load")
