"""The programs of the row norms: their layouts, and that they compile for every architecture."""

import importlib

import pytest
import torch

from tileops.device import DeviceFacts
from tileops.kernels.compile import OWN_BARRIERS, lower, nvcc
from tileops.kernels.norm.programs.build import layout_on
from tileops.kernels.norm.programs.row_layout import RowTensors, row_layout

BUDGET = {80: 163 << 10, 86: 99 << 10, 89: 99 << 10, 90: 227 << 10}
SM_THREADS = {80: 2048, 86: 1536, 89: 1536, 90: 2048}
WIDTHS = [*range(1, 300), 999, 1152, 2880, 3000, 4095, 4096, 5120, 7168, 8192, 12288, 16384]
WIDTHS += [24576, 32768, 50304, 65535, 65536, 131072, 262143, 262144, 1 << 20, 3000000]
PROGRAMS = {
    "layer_norm": RowTensors(factors=2),
    "rms_norm": RowTensors(factors=1),
    "fused_add_layer_norm": RowTensors(summed=2, factors=2),
    "fused_add_rms_norm": RowTensors(summed=2, factors=1),
    "ada_layer_norm": RowTensors(applied=2),
    "ada_layer_norm_zero": RowTensors(applied=3),
}

needs_nvcc = pytest.mark.skipif(nvcc() is None, reason="compiling needs nvcc")


@pytest.mark.parametrize("arch", BUDGET)
@pytest.mark.parametrize("itemsize", [2, 4])
@pytest.mark.parametrize("tensors", PROGRAMS.values(), ids=list(PROGRAMS))
def test_every_width_has_a_layout_that_its_device_can_run(arch, itemsize, tensors):
    """Accesses divide the row; threads, shared memory and clusters stay within the device's."""
    for n in WIDTHS:
        layout = row_layout(n, itemsize, arch, BUDGET[arch], tensors)
        assert n % layout.vector == 0
        assert layout.vector * itemsize <= 16
        assert layout.lanes & (layout.lanes - 1) == 0
        assert layout.rows == 1 or layout.hold != "nowhere"
        assert layout.threads % 32 == 0
        assert layout.threads * layout.resident <= SM_THREADS[arch]
        assert layout.cluster == 1 or arch >= 90
        assert layout.cluster <= 16
        if layout.hold == "shared":
            staged = -(-n // layout.cluster) * layout.rows * itemsize * tensors.streams
            assert staged <= BUDGET[arch]


@pytest.mark.parametrize(
    ("n", "arch", "hold", "cluster"),
    [
        pytest.param(1024, 90, "registers", 1, id="four accesses a lane"),
        pytest.param(1032, 90, "shared", 1, id="more with two factors"),
        pytest.param(1528, 90, "shared", 1, id="almost six"),
        pytest.param(1536, 90, "registers", 1, id="six of half as many"),
        pytest.param(2048, 90, "registers", 1, id="the widest row that registers hold"),
        pytest.param(2056, 90, "shared", 1, id="one access wider"),
        pytest.param(32768, 90, "shared", 1, id="the widest row of one block on Hopper"),
        pytest.param(32776, 90, "shared", 2, id="a cluster of two blocks"),
        pytest.param(262144, 90, "shared", 8, id="a cluster of eight blocks"),
        pytest.param(1 << 21, 90, "nowhere", 16, id="more than a cluster holds"),
        pytest.param(65536, 80, "shared", 1, id="the A100 stages 128 KiB"),
        pytest.param(65536, 86, "nowhere", 1, id="99 KiB do not hold it"),
    ],
)
def test_where_a_row_waits(n, arch, hold, cluster):
    """A 16-bit row waits in registers, then in shared memory, then across a cluster."""
    layout = row_layout(n, 2, arch, BUDGET[arch], RowTensors(factors=2))
    assert (layout.hold, layout.cluster) == (hold, cluster)


def test_an_odd_row_is_accessed_by_elements():
    """A row of an odd number of elements starts at any of them."""
    tensors = RowTensors(factors=2)
    assert row_layout(999, 2, 90, BUDGET[90], tensors).vector == 1
    assert row_layout(999, 4, 90, BUDGET[90], tensors).vector == 1
    assert row_layout(1002, 2, 90, BUDGET[90], tensors).vector == 2


def lowered(name, n, dtype, arch):
    """Compile one program for one architecture."""
    module = importlib.import_module(f"tileops.kernels.norm.programs.{name}")
    facts = DeviceFacts(arch=arch, sm_count=100, smem_budget=BUDGET[arch])
    assert PROGRAMS[name] == module.TENSORS
    layout = layout_on(facts, n, dtype, module.TENSORS)
    return lower(
        module.program(n, 1e-5, str(dtype).removeprefix("torch."), layout), arch, OWN_BARRIERS
    )


@needs_nvcc
@pytest.mark.parametrize("arch", BUDGET)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_compiles_for_every_architecture(name, arch):
    """The widest row that blocks stage fits their shared memory and no register spills."""
    code = lowered(name, 8192, torch.bfloat16, arch)
    assert code.cubin
    assert code.shared <= BUDGET[arch]
    assert code.spilled == 0


@needs_nvcc
@pytest.mark.parametrize(
    ("n", "dtype", "arch"),
    [
        pytest.param(1, torch.float32, 90, id="one element"),
        pytest.param(256, torch.bfloat16, 90, id="lanes of a warp"),
        pytest.param(1152, torch.float16, 90, id="a ragged warp"),
        pytest.param(2048, torch.bfloat16, 90, id="registers of a block"),
        pytest.param(999, torch.float16, 80, id="odd"),
        pytest.param(4100, torch.bfloat16, 86, id="8-byte accesses"),
        pytest.param(65536, torch.bfloat16, 90, id="cluster of two"),
        pytest.param(262143, torch.float32, 90, id="cluster of sixteen, odd"),
        pytest.param(65536, torch.float32, 80, id="read twice"),
    ],
)
def test_every_way_to_hold_a_row_compiles(n, dtype, arch):
    """Layer normalization compiles in each region of widths without spilling a register."""
    code = lowered("layer_norm", n, dtype, arch)
    assert code.shared <= BUDGET[arch]
    assert code.spilled == 0


def body(name, n, dtype, arch):
    """The kernel that a program became, without what it includes."""
    source = lowered(name, n, dtype, arch).source
    return source[source.rindex("main_kernel(") :]


@needs_nvcc
def test_rows_are_moved_sixteen_bytes_at_a_time():
    """A row of whole 16-byte accesses is copied in, read back and written by them alone."""
    text = body("layer_norm", 4096, torch.bfloat16, 90)
    assert "copy_async<16>" in text
    assert "*(uint4*)(((bfloat16_t*)Y" in text or "*(uint4*)(((bfloat16_t*)v" in text.lower()


@needs_nvcc
@pytest.mark.parametrize(
    ("n", "dtype", "stores"),
    [
        pytest.param(1152, torch.float16, 0, id="two-rows-staged"),
        pytest.param(64, torch.bfloat16, 1, id="32-rows-in-registers"),
        pytest.param(16, torch.bfloat16, 1, id="a-lane-without-an-access"),
        pytest.param(32, torch.bfloat16, 0, id="one-access-a-lane"),
        pytest.param(7, torch.float32, 0, id="4-byte-accesses"),
        pytest.param(2048, torch.bfloat16, 0, id="one-row-a-block"),
    ],
)
def test_rows_that_share_a_block_are_stored_whole(n, dtype, stores):
    """Where nvcc would take a conditional store to pieces, an instruction is spelled out."""
    assert body("layer_norm", n, dtype, 90).count("store_whole<16>") == stores


@needs_nvcc
@pytest.mark.parametrize("n", [pytest.param(4096, id="block"), pytest.param(65536, id="cluster")])
def test_a_program_waits_for_its_predecessor(n):
    """A kernel that may start before its predecessor has ended waits before it reads a row."""
    text = body("layer_norm", n, torch.bfloat16, 90)
    assert text.index("cudaGridDependencySynchronize") < text.index("copy_async")


@needs_nvcc
def test_only_hopper_starts_early():
    """Architectures without programmatic launches get no such instruction."""
    assert "cudaGridDependencySynchronize" not in body("layer_norm", 4096, torch.bfloat16, 80)
