"""Attention's kernels on an emulated device against float64: decoding, prefill and fp8."""

from __future__ import annotations

import pytest
import torch

from emulator import EMULATED, emulated_device
from ops.attention import gqa_references as reference
from tileops.kernels.attention.gqa.decode import (
    GQADecodeBs1Kernel,
    GQADecodeKernel,
    GQADecodeLongContextKernel,
)
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.fp8 import GQADenseFP8Kernel
from tileops.kernels.attention.gqa.fp8_decode import GQADenseFP8DecodeKernel
from tileops.kernels.attention.gqa.prefill import GQADensePrefillKernel

pytestmark = EMULATED

F16, BF16, F8 = torch.float16, torch.bfloat16, torch.float8_e4m3fn
DECODE = GQADecodeKernel
PREFILL, FP8, FP8_DECODE = GQADensePrefillKernel, GQADenseFP8Kernel, GQADenseFP8DecodeKernel

slow = pytest.mark.slow


def one_in_clusters(form):
    """Build the kernel of one sequence for lengths that clusters are worth."""
    return GQADecodeBs1Kernel(form, clusters=True)


def one_in_blocks(form):
    """Build it for lengths beyond."""
    return GQADecodeBs1Kernel(form, clusters=False)


def long_in_clusters(form):
    """Build the kernel of long contexts as if clusters were worth it."""
    return GQADecodeLongContextKernel(form, clusters=True)


def attend(kernel_type, arch, sizes, dtype, *, causal=False, softcap=0.0, sm_count=8, **how):
    """Compare the kernel's result with the definition.

    *sizes* are batch, queries, keys, heads, heads of keys, and the width of a head.
    """
    batch, _, _, heads, heads_kv, dim = sizes
    q, k, v = reference.inputs(*sizes, dtype, device="cpu")
    out_dtype, scales = (BF16 if dtype is F8 else dtype), (None, None, None)
    exact = (q, k, v)
    if dtype is F8:
        generator = torch.Generator().manual_seed(1)
        made = torch.rand(3, batch, heads_kv, generator=generator) + 0.5
        scales = tuple(one.contiguous() for one in made)
        counts = (heads, heads_kv, heads_kv)
        exact = [reference.scaled(*one) for one in zip(exact, scales, counts, strict=True)]
    names = (str(one).removeprefix("torch.") for one in (dtype, out_dtype))
    form = GQAForm(heads, heads_kv, dim, *names, dim**-0.5, softcap, causal)
    with emulated_device(arch, sm_count, **how):
        kernel = kernel_type(form)
        o = kernel.bind(q, k, v, *scales)(q, k, v, *scales)
    expected = reference.attention(*exact, softcap=softcap, causal=causal)
    assert o.dtype == out_dtype
    reference.assert_close(o, expected, relative=2e-2 if dtype is F8 else None)


@pytest.mark.parametrize(
    ("kernel_type", "arch", "sizes", "dtype"),
    [
        pytest.param(DECODE, 80, (2, 1, 20, 8, 2, 64), F16, id="80-one-part"),
        pytest.param(DECODE, 80, (1, 1, 333, 8, 2, 128), BF16, id="80-split", marks=slow),
        pytest.param(DECODE, 89, (1, 1, 333, 8, 2, 128), F16, id="89-split", marks=slow),
        pytest.param(DECODE, 90, (2, 1, 7, 4, 1, 72), F16, id="90-odd-width"),
        pytest.param(DECODE, 90, (1, 1, 500, 8, 2, 128), BF16, id="90-split"),
        pytest.param(DECODE, 90, (1, 1, 150, 34, 2, 64), F16, id="90-two-head-tiles"),
        pytest.param(DECODE, 90, (1, 1, 65, 4, 2, 256), F16, id="90-wide"),
        pytest.param(DECODE, 90, (2, 1, 450, 4, 2, 192), F16, id="90-192-wide", marks=slow),
        pytest.param(one_in_clusters, 90, (1, 1, 333, 8, 2, 128), BF16, id="bs1-90-cluster-of-2"),
        pytest.param(one_in_clusters, 90, (1, 1, 100, 16, 8, 64), F16, id="bs1-90-many-heads"),
        pytest.param(one_in_blocks, 90, (1, 1, 900, 16, 2, 64), F16, id="bs1-90-split", marks=slow),
        pytest.param(long_in_clusters, 80, (1, 1, 1030, 32, 4, 128), F16, id="long-80", marks=slow),
        pytest.param(FP8_DECODE, 90, (2, 1, 100, 8, 2, 128), F8, id="fp8-90"),
        pytest.param(FP8_DECODE, 90, (1, 1, 65, 4, 1, 72), F8, id="fp8-90-odd-width", marks=slow),
    ],
)
def test_decoding(kernel_type, arch, sizes, dtype):
    """One query a sequence: parts of the keys are merged into the definition's result."""
    attend(kernel_type, arch, sizes, dtype)


@pytest.mark.parametrize(
    ("kernel_type", "arch", "sizes", "dtype", "causal"),
    [
        pytest.param(PREFILL, 80, (1, 70, 90, 2, 1, 64), F16, True, id="80-causal"),
        pytest.param(PREFILL, 80, (1, 130, 40, 1, 1, 128), BF16, False, id="80-whole", marks=slow),
        pytest.param(PREFILL, 80, (1, 33, 65, 2, 1, 256), F16, True, id="80-wide", marks=slow),
        pytest.param(PREFILL, 89, (1, 70, 90, 2, 1, 128), F16, True, id="89-causal", marks=slow),
        pytest.param(PREFILL, 90, (1, 140, 150, 2, 1, 128), F16, True, id="90-causal"),
        pytest.param(PREFILL, 90, (2, 20, 7, 2, 2, 64), BF16, False, id="90-one-tile"),
        pytest.param(PREFILL, 90, (1, 130, 300, 1, 1, 72), F16, False, id="90-odd-width"),
        pytest.param(PREFILL, 90, (1, 70, 90, 2, 1, 256), BF16, True, id="90-wide"),
        pytest.param(FP8, 90, (1, 70, 90, 2, 1, 128), F8, True, id="fp8-90-causal"),
        pytest.param(FP8, 90, (2, 5, 33, 2, 2, 64), F8, False, id="fp8-90-few", marks=slow),
    ],
)
def test_many_queries(kernel_type, arch, sizes, dtype, causal):
    """Tiles of queries and keys, also where they end outside the sequences."""
    attend(kernel_type, arch, sizes, dtype, causal=causal)


@pytest.mark.parametrize(
    ("kernel_type", "sizes"),
    [
        pytest.param(DECODE, (1, 1, 40, 4, 2, 64), id="decode"),
        pytest.param(PREFILL, (1, 20, 40, 2, 1, 64), id="prefill", marks=slow),
    ],
)
def test_capped_scores(kernel_type, sizes):
    """Scores are bounded before they are weighed."""
    attend(kernel_type, 90, sizes, F16, softcap=3.0)


LATE = {"late": True, "seed": 1}


@pytest.mark.parametrize(
    ("kernel_type", "sizes", "how"),
    [
        pytest.param(PREFILL, (1, 140, 300, 1, 1, 64), LATE, id="prefill-late"),
        pytest.param(PREFILL, (1, 65, 300, 1, 1, 64), {"race": True}, id="prefill-race"),
        pytest.param(DECODE, (1, 1, 1200, 4, 1, 64), LATE, id="decode-late"),
        pytest.param(DECODE, (1, 1, 700, 4, 1, 64), {"race": True}, id="decode-race"),
        pytest.param(
            *(DECODE, (1, 1, 300, 4, 1, 72), {"race": True, **LATE}), id="decode-pieces-late-race"
        ),
        pytest.param(
            *(one_in_clusters, (1, 1, 333, 8, 2, 64), {"race": True, "sm_count": 64}),
            id="bs1-cluster-of-16-race",
        ),
        pytest.param(
            *(long_in_clusters, (1, 1, 1030, 32, 4, 128), {"sm_count": 132}),
            id="long-cluster-of-16",
        ),
    ],
)
def test_the_barriers(kernel_type, sizes, how):
    """Late copies, another order of threads and the race detector find nothing amiss."""
    attend(kernel_type, 90, sizes, F16, **how)
