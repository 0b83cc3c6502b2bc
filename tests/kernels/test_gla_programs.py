"""The programs of gated linear attention compile for every architecture and fit its boards."""

import pytest

from tileops.kernels.compile import lower, nvcc
from tileops.kernels.linear_attention.programs import (
    gla_chunks,
    gla_decode,
    gla_scan,
    gla_summary,
)
from tileops.kernels.linear_attention.programs.gla_tiles import chunk_tiles, decode_tiles
from tileops.kernels.linear_attention.programs.passes import PASSES

BUDGET = {80: 163 << 10, 86: 99 << 10, 89: 99 << 10, 90: 227 << 10}
# Threads times registers that a block may have.
REGISTERS = 64 << 10

needs_nvcc = pytest.mark.skipif(nvcc() is None, reason="compiling needs nvcc")
pytestmark = needs_nvcc


def compiled(program, arch, threads):
    """Compile for one architecture, and check what a block takes."""
    code = lower(program, arch, PASSES)
    assert code.cubin
    assert code.shared <= BUDGET[arch]
    assert code.registers * threads <= REGISTERS
    assert code.spilled == 0
    return code.source[code.source.rindex("main_kernel(") :]


def chunks(dim_k, dim_v, arch, dtype="bfloat16"):
    """Compile the program that walks chunks from an initial state."""
    tiles = chunk_tiles(dim_k, dim_v, arch)
    program = gla_chunks.program(dim_k, dim_v, dtype, 0.125, True, tiles, arch)
    return compiled(program, arch, tiles.threads)


@pytest.mark.parametrize("arch", BUDGET)
def test_chunks_compile(arch):
    """The widest keys that every architecture serves fit, and no register spills."""
    text = chunks(128, 128, arch)
    assert ("wgmma" in text) == (arch == 90)
    # One copy of sixteen bytes or of zeros for every access of the data.
    assert "copy_or_zero" in text


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("dim_v", [32, 64, 128, 256])
@pytest.mark.parametrize(
    ("dim_k", "arch"),
    [(width, arch) for width in (32, 64, 128) for arch in (80, 90)] + [(256, 90)],
)
def test_chunks_of_every_width_compile(dim_k, dim_v, arch, dtype):
    """Every pair of widths fits."""
    chunks(dim_k, dim_v, arch, dtype)


@pytest.mark.parametrize("arch", BUDGET)
def test_summaries_compile(arch):
    """Summing up a part takes less than walking it."""
    tiles = chunk_tiles(128, 128, arch)
    program = gla_summary.program(128, 128, "bfloat16", tiles, arch)
    compiled(program, arch, tiles.threads)


@pytest.mark.parametrize("arch", BUDGET)
def test_the_scan_compiles(arch):
    """The states of parts are read and written sixteen bytes at a time."""
    text = compiled(gla_scan.program(128, 128, True), arch, gla_scan.THREADS)
    assert "*(float4*)" in text
    # nvcc would take the conditional one to pieces.
    assert "store_whole<16>" in text


@pytest.mark.parametrize("arch", BUDGET)
@pytest.mark.parametrize("sequences", [32, 4096], ids=["few", "many"])
def test_one_step_compiles(arch, sequences):
    """The state is read sixteen bytes at a time, all of it before the first barrier."""
    tiles = decode_tiles(128, 128, sequences, 132)
    program = gla_decode.program(128, 128, "bfloat16", 0.125, True, tiles, arch)
    text = compiled(program, arch, tiles.threads)
    assert text.index("(float4*)(((float*)initial)") < text.index("__syncthreads")
    # Only Hopper starts a kernel before its predecessor has ended, and then waits before it reads.
    waits = "cudaGridDependencySynchronize" in text
    assert waits == (arch == 90)
    assert not waits or text.index("cudaGridDependencySynchronize") < text.index("initial)")
