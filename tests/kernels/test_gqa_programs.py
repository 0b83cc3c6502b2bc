"""The programs of attention compile for every architecture, and do what they are meant to."""

import re

import pytest

from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.programs import decode, prefill, prefill_cp_async
from tileops.kernels.attention.gqa.tiling import decode_tiling, fp8_tiling, prefill_tiling
from tileops.kernels.compile import lower, nvcc

BUDGET = {80: 163 << 10, 89: 99 << 10, 90: 227 << 10}
F8 = "float8_e4m3fn"

pytestmark = pytest.mark.skipif(nvcc() is None, reason="compiling needs nvcc")


def form(dtype, dim=128, heads=32, heads_kv=4, softcap=0.0, causal=False):
    out = "bfloat16" if dtype == F8 else dtype
    return GQAForm(heads, heads_kv, dim, dtype, out, dim**-0.5, softcap, causal)


def checked(program, arch, passes):
    """Compile a program; nothing spills and its blocks fit the architecture's boards."""
    code = lower(program, arch, passes)
    assert code.cubin
    assert code.spilled == 0
    assert code.shared <= BUDGET[arch]
    return code.source[code.source.rindex('extern "C" __global__') :]


def decoded(one, arch, cluster=1):
    tiling = decode_tiling(one.dim, one.itemsize, arch, BUDGET[arch], cluster)
    return checked(decode.program(one, tiling), arch, decode.PASSES)


def attended(one, arch):
    """Compile for many queries what the kernels of the architecture and dtype build."""
    if one.itemsize == 1:
        program = prefill_cp_async.program(one, fp8_tiling(one.dim, BUDGET[arch]))
        return checked(program, arch, prefill_cp_async.PASSES)
    tiling = prefill_tiling(one.dim, arch, BUDGET[arch], capped=one.softcap > 0.0)
    if arch >= 90:
        return checked(prefill.program(one, tiling), arch, prefill.PASSES)
    return checked(prefill_cp_async.program(one, tiling), arch, prefill_cp_async.PASSES)


def widths(text):
    """The bytes of the asynchronous copies of a kernel."""
    return set(re.findall(r"cp_async_gs\w*<(\d+)>", text))


@pytest.mark.parametrize("arch", BUDGET)
def test_decoding_on_every_architecture(arch):
    """Copies are of 16 bytes or whole boxes, products mma; a ticket finds the last block."""
    text = decoded(form("float16"), arch)
    assert widths(text) == (set() if arch == 90 else {"16"})
    assert ("tma_load" in text) == (arch == 90)
    assert "mma_sync" in text
    assert "AtomicAddRet" in text
    assert "cluster_sync" not in text


def test_a_cluster_waits_for_the_kernel_before_it():
    """A cluster may start early, so it waits before it reads, and its blocks merge on the chip."""
    text = decoded(form("bfloat16"), 90, cluster=16)
    assert text.index("cudaGridDependencySynchronize") < text.index("cp_async_gs")
    assert text.count("cluster_sync") == 2
    assert "tileops::send" in text


def test_boxes_are_for_heads_of_whole_swizzled_parts():
    """Other heads come in pieces; keys and values have one tensor map each, made for a launch."""
    pieces = decoded(form("float16", dim=72), 90)
    assert widths(pieces) == {"16"}
    assert "tma_load" not in pieces
    boxes = decoded(form("bfloat16", dim=64), 90)
    assert len(re.findall(r"const CUtensorMap \w+", boxes[: boxes.index("{")])) == 2
    assert boxes.index("cudaGridDependencySynchronize") < boxes.index("tma_load")


def test_fp8_decoding_widens_in_registers():
    """What is copied is fp8, what is multiplied float16."""
    text = decoded(form(F8), 90)
    assert widths(text) == {"16"}
    assert "tileops::widen_columns" in text
    assert set(re.findall(r"mma_sync<tl::DataType::(\w+)", text)) == {"kFloat16"}


@pytest.mark.parametrize("arch", BUDGET)
def test_many_queries_on_every_architecture(arch):
    """Hopper brings tiles in by bulk copies and multiplies by warpgroups; others by warps."""
    text = attended(form("bfloat16", causal=True), arch)
    if arch == 90:
        assert "tma_load" in text
        assert "wgmma" in text
    else:
        assert widths(text) == {"16"}
        assert "mma_sync" in text


def test_many_fp8_queries():
    """The generic fp8 program copies fp8 and multiplies float16."""
    text = attended(form(F8, causal=True), 90)
    assert widths(text) == {"16"}
    assert set(re.findall(r"wgmma_\w+<tl::DataType::(\w+)", text)) == {"kFloat16"}


@pytest.mark.slow
@pytest.mark.parametrize("arch", BUDGET)
@pytest.mark.parametrize("dim", [8, 64, 72, 80, 96, 160, 192, 256])
@pytest.mark.parametrize("dtype", ["float16", F8])
def test_decoding_of_every_kind_of_head(arch, dim, dtype):
    """Every width compiles for every architecture that claims its dtype."""
    if dtype == F8 and arch != 90:
        pytest.skip("fp8 is for Hopper")
    decoded(form(dtype, dim, softcap=30.0), arch)


@pytest.mark.slow
@pytest.mark.parametrize("dim", [64, 80, 128, 256])
@pytest.mark.parametrize("cluster", [2, 4, 8, 16])
@pytest.mark.parametrize("dtype", ["float16", F8])
def test_clusters_of_every_size(dim, cluster, dtype):
    """Every cluster compiles for narrow, ragged and wide heads."""
    decoded(form(dtype, dim, heads=48, heads_kv=3), 90, cluster)


@pytest.mark.slow
@pytest.mark.parametrize("arch", BUDGET)
@pytest.mark.parametrize("dim", [8, 64, 72, 96, 160, 192, 256])
@pytest.mark.parametrize("dtype", ["float16", F8])
def test_many_queries_of_every_kind_of_head(arch, dim, dtype):
    """Every width compiles for every architecture that claims its dtype."""
    if dtype == F8 and arch != 90:
        pytest.skip("fp8 is for Hopper")
    attended(form(dtype, dim, softcap=30.0, causal=True), arch)
