"""The gemm kernels on an emulated device against float64: every program, layout and edge."""

from __future__ import annotations

import pytest
import torch

from emulator import EMULATED, emulated_device
from tileops.kernels.gemm.gemm_cp_async import GemmCpAsyncKernel
from tileops.kernels.gemm.gemm_skinny import GemmSkinnyKernel
from tileops.kernels.gemm.gemm_tma import GemmTmaKernel
from tileops.kernels.gemm.gemv import GemvKernel
from tileops.kernels.gemm.programs import skinny, tma
from tileops.kernels.gemm.tiles import SKINNY_TILES, TMA_TILES

pytestmark = EMULATED

F16, BF16 = torch.float16, torch.bfloat16
NN, NT, TN, TT = (False, False), (False, True), (True, False), (True, True)
GENERAL, TMA, SKINNY, GEMV = GemmCpAsyncKernel, GemmTmaKernel, GemmSkinnyKernel, GemvKernel

# Half a unit in the last place of the result, and what sums in float32 lose.
RELATIVE = {F16: 1.5 * 2**-11, BF16: 1.5 * 2**-8}

slow = pytest.mark.slow
POINTS = [
    pytest.param(GENERAL, 80, (40, 72, 200), F16, NT, id="80-few-rows"),
    pytest.param(GENERAL, 80, (136, 136, 72), BF16, NN, id="80-many-rows-two-tiles"),
    pytest.param(GENERAL, 80, (41, 71, 99), F16, TN, id="80-odd-sizes"),
    pytest.param(GENERAL, 80, (130, 129, 33), F16, TT, id="80-odd-many-rows", marks=slow),
    pytest.param(GENERAL, 80, (8, 64, 8), BF16, NT, id="80-one-step"),
    pytest.param(GENERAL, 86, (130, 72, 200), F16, NT, id="86-many-rows", marks=slow),
    pytest.param(GENERAL, 89, (40, 72, 200), BF16, TN, id="89-few-rows", marks=slow),
    pytest.param(GENERAL, 90, (33, 65, 130), F16, NT, id="90-odd-sizes"),
    pytest.param(TMA, 90, (64, 136, 200), BF16, NT, id="tma-edges-nt"),
    pytest.param(TMA, 90, (72, 264, 72), F16, NN, id="tma-edges-nn"),
    pytest.param(TMA, 90, (200, 136, 136), F16, TN, id="tma-edges-tn"),
    pytest.param(TMA, 90, (136, 72, 520), BF16, TT, id="tma-edges-tt", marks=slow),
    pytest.param(TMA, 90, (8, 8, 8), F16, NT, id="tma-one-step"),
    pytest.param(TMA, 90, (300, 1032, 72), F16, NT, id="tma-blocks-that-stay", marks=slow),
    pytest.param(SKINNY, 90, (16, 264, 1032), BF16, NT, id="skinny-32-split"),
    pytest.param(SKINNY, 90, (40, 136, 520), F16, NN, id="skinny-64-split", marks=slow),
    pytest.param(SKINNY, 90, (104, 264, 264), F16, TN, id="skinny-128", marks=slow),
    pytest.param(SKINNY, 90, (1, 8, 8), BF16, NT, id="skinny-one-of-all"),
    pytest.param(GEMV, 90, (1, 100, 1000), F16, NT, id="gemv-rows-of-b"),
    pytest.param(GEMV, 90, (1, 136, 300), BF16, NN, id="gemv-columns-of-b"),
    pytest.param(GEMV, 89, (3, 136, 300), BF16, NN, id="gemv-89-columns-of-b-3-rows"),
    pytest.param(GEMV, 80, (4, 37, 136), F16, NT, id="gemv-80-4-rows"),
    pytest.param(GEMV, 80, (1, 72, 99), BF16, TN, id="gemv-80-trans-a"),
]


def product(kernel_type, arch, sizes, dtype, layout, **how):
    """The kernel's result and the float64 one."""
    (m, n, k), (trans_a, trans_b) = sizes, layout
    generator = torch.Generator().manual_seed(m * n * k)
    a = torch.randn((k, m) if trans_a else (m, k), generator=generator).to(dtype)
    b = torch.randn((n, k) if trans_b else (k, n), generator=generator).to(dtype)
    with emulated_device(arch, **how):
        kernel = kernel_type(n, k, dtype, trans_a, trans_b)
        d = kernel.bind(a, b)(a, b)
    left, right = a.double(), b.double()
    return d, (left.T if trans_a else left) @ (right.T if trans_b else right)


def check(*point, **how):
    compare(*product(*point, **how), point[2][2])


def compare(d, expected, k):
    error = (d.double() - expected).abs()
    bound = RELATIVE[d.dtype] * (expected.abs() + k**0.5 * 2**-6)
    assert d.shape == expected.shape
    assert (error <= bound).all(), f"off by {error.max().item():.3e}"


@pytest.mark.parametrize(("kernel_type", "arch", "sizes", "dtype", "layout"), POINTS)
def test_a_product(kernel_type, arch, sizes, dtype, layout):
    """It agrees with the definition, and touches nothing beyond its tensors."""
    check(kernel_type, arch, sizes, dtype, layout)


@pytest.mark.parametrize(
    ("kernel_type", "sizes", "how"),
    [
        pytest.param(TMA, (64, 136, 456), {"late": True, "seed": 1}, id="tma-late"),
        pytest.param(SKINNY, (8, 136, 1032), {"late": True, "seed": 1}, id="skinny-late"),
        pytest.param(GENERAL, (40, 72, 328), {"late": True, "seed": 1}, id="general-late"),
        pytest.param(TMA, (64, 136, 456), {"race": True}, id="tma-race", marks=slow),
        pytest.param(SKINNY, (8, 136, 520), {"race": True}, id="skinny-race", marks=slow),
        pytest.param(GENERAL, (40, 72, 328), {"race": True}, id="general-race"),
    ],
)
def test_a_products_barriers(kernel_type, sizes, how):
    """Late copies, another order of threads and the race detector find nothing amiss."""
    check(kernel_type, 90, sizes, BF16, NT, **how)


@pytest.mark.parametrize(
    ("build", "tile", "sizes"),
    [
        pytest.param(tma.build, TMA_TILES[1], (200, 264, 328), id="three-warpgroups"),
        pytest.param(tma.build, TMA_TILES[4], (200, 267, 72), id="odd-columns"),
        pytest.param(tma.build, TMA_TILES[1], (72, 267, 72), id="odd-columns-in-parts", marks=slow),
        *(
            pytest.param(tma.build, one, (200, 264, 328), id=f"tma-{one.m}x{one.n}", marks=slow)
            for one in TMA_TILES
        ),
        *(
            pytest.param(
                *(skinny.build, one, (one.rows - 3, 264, 1032)),
                id=f"skinny-{one.rows}x{one.columns}",
                marks=slow,
            )
            for one in SKINNY_TILES
        ),
    ],
)
def test_a_tile(build, tile, sizes):
    """Each makes a product over more than one of its kind, whatever the rows are worth it."""
    m, n, k = sizes
    generator = torch.Generator().manual_seed(n)
    a, b = (torch.randn(rows, k, generator=generator).to(F16) for rows in (m, n))
    d = torch.empty(m, n, dtype=F16)
    # Blocks that stay for more than one tile, or clusters.
    with emulated_device(90, 3 if build is tma.build else 24) as facts:
        build((tile,), n, k, F16, False, True, facts)[tile](a, b, d)
    compare(d, a.double() @ b.double().T, k)
