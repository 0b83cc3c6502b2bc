"""The matrix products on a CUDA device against float64: sizes, layouts, values, launches."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from tileops.kernels.gemm.call_spec import GemmCall
from tileops.ops.gemm.gemm import GemmFwdOp

pytestmark = pytest.mark.gpu

F16, BF16 = torch.float16, torch.bfloat16
NN, NT, TN, TT = (False, False), (False, True), (True, False), (True, True)
LAYOUTS = {"nn": NN, "nt": NT, "tn": TN, "tt": TT}

RELATIVE = {F16: 1e-3, BF16: 5e-3}
"""The largest norm of the difference over the norm of the reference."""

ONE_N, ONE_K = 264, 520
"""Columns and depth of the points that vary the rows: their programs are built once."""

ROWS = [*range(1, 10), 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 130, 255, 256, 257]

MODELS = [
    (1024, 1024, 1024),
    (4096, 4096, 7168),
    (8192, 8192, 8192),
    (128, 7168, 2048),
    (64, 2112, 7168),
    (4096, 2112, 7168),
    (16, 4096, 7168),
    (1, 24576, 4096),
    (2, 2112, 7168),
]
CORNERS = [
    (3, 5, 8, NT),
    (1, 1, 8, NT),
    (16, 16, 16, NT),
    (17, 33, 40, NT),
    (17, 33, 40, NN),
    (127, 129, 136, NT),
    (127, 129, 136, TN),
    (129, 257, 72, NT),
    (136, 264, 77, TN),
    (256, 21843, 1024, NT),
    (100, 100, 1000, NN),
    (7, 4096, 4100, NT),
    (200, 264, 63, NN),
    (200, 264, 64, NT),
    (200, 264, 65, NT),
    (200, 264, 72, TN),
    (200, 264, 184, NT),
    (200, 264, 192, TT),
    (200, 264, 200, NN),
    (203, 264, 200, TT),
    (200, 264, 999, NT),
    (4097, 4097, 128, NT),
]
VARIED = [(NN, BF16), (NT, BF16), (TN, BF16), (TT, BF16), (NT, F16)]
"""Layouts and dtypes of the points that vary the rows."""


def call_of(m, n, k, layout, dtype):
    trans_a, trans_b = layout
    return GemmCall("cuda", m=m, n=n, k=k, dtype=dtype, trans_a=trans_a, trans_b=trans_b)


def every_point():
    """Every product whose programs the tests need, once per build."""
    points = [(*size, NT, BF16) for size in MODELS]
    points += [(*corner, F16) for corner in CORNERS]
    points += [
        (m, ONE_N, ONE_K, layout, dtype) for m in (1, 2, 8, 9, 136) for layout, dtype in VARIED
    ]
    return points


@pytest.fixture(scope="module")
def ops():
    """An op per layout, with the kernels of all points built side by side."""
    made = {layout: GemmFwdOp(*layout) for layout in LAYOUTS.values()}
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as workers:
        waiting = [
            workers.submit(made[layout].kernel_for, "gemm", call_of(m, n, k, layout, dtype))
            for m, n, k, layout, dtype in every_point()
        ]
        for one in waiting:
            one.result()
    return made


def operands(m, n, k, layout, dtype, seed=0):
    generator = torch.Generator("cuda").manual_seed(seed)
    shapes = (k, m) if layout[0] else (m, k), (n, k) if layout[1] else (k, n)
    return tuple(
        torch.randn(shape, generator=generator, device="cuda").to(dtype) for shape in shapes
    )


def plain(a, b, layout):
    """The matrices that the operands stand for."""
    return a.T if layout[0] else a, b.T if layout[1] else b


def reference(a, b, layout):
    a, b = plain(a, b, layout)
    return a.double() @ b.double()


def assert_close(d, expected):
    """Compare the whole product by norm and every element by its rounding and that of the sum."""
    difference = d.double() - expected
    relative = difference.norm() / expected.norm()
    assert relative <= RELATIVE[d.dtype], f"{relative:.3e} > {RELATIVE[d.dtype]}"
    spread = expected.square().mean().sqrt()
    bound = 4 * torch.finfo(d.dtype).eps * spread + torch.finfo(d.dtype).eps * expected.abs()
    assert (difference.abs() <= bound).all()


def check(op, a, b, layout):
    """Compare with float64, twice the same bits, inputs untouched."""
    kept = a.clone(), b.clone()
    expected = reference(a, b, layout)
    d = op(a, b)
    assert_close(d, expected)
    assert torch.equal(op(a, b), d)
    assert torch.equal(a, kept[0])
    assert torch.equal(b, kept[1])


@pytest.mark.parametrize(("m", "n", "k"), MODELS)
def test_sizes_of_models(ops, m, n, k):
    """The model shapes agree with float64 as closely as cuBLAS does."""
    a, b = operands(m, n, k, NT, BF16)
    check(ops[NT], a, b, NT)
    expected = reference(a, b, NT)
    ours, cublas = ((one.double() - expected).norm() for one in (ops[NT](a, b), torch.mm(a, b.T)))
    assert ours <= 1.02 * cublas


@pytest.mark.parametrize(("m", "n", "k", "layout"), CORNERS)
def test_corners(ops, m, n, k, layout):
    """Single-step sums, edges of tiles, odd sizes and the smallest product."""
    check(ops[layout], *operands(m, n, k, layout, F16), layout)


@pytest.mark.parametrize(
    ("layout", "dtype"), VARIED, ids=["nn-bf16", "nt-bf16", "tn-bf16", "tt-bf16", "nt-fp16"]
)
@pytest.mark.parametrize("m", ROWS)
def test_rows(ops, m, layout, dtype):
    """Both sides of every boundary between kernels and between their tiles."""
    check(ops[layout], *operands(m, ONE_N, ONE_K, layout, dtype), layout)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_growing_row_counts_build_nothing(ops, layout):
    """After a build per key no number of rows asks for another."""
    op = ops[layout]
    for m in (1, 2, 8, 9, 136):
        op(*operands(m, ONE_N, ONE_K, layout, BF16))
    before = len(list(op.iter_kernels()))
    for m in range(1, 301):
        a, b = operands(m, ONE_N, ONE_K, layout, BF16, seed=m)
        assert_close(op(a, b), reference(a, b, layout))
    assert len(list(op.iter_kernels())) == before


@pytest.mark.parametrize("m", [1, 3, 16, 100, 200])
def test_a_thousand_repeats(ops, m):
    """The same inputs give the same bits, however the blocks are scheduled."""
    a, b = operands(m, ONE_N, ONE_K, NT, BF16)
    first = ops[NT](a, b)
    different = torch.zeros((), device="cuda", dtype=torch.int64)
    for _ in range(1000):
        different += (ops[NT](a, b) != first).sum()
    assert different.item() == 0


@pytest.mark.parametrize("m", [1, 3, 16, 100, 200])
def test_products_of_integers_are_exact(ops, m):
    """Small integers are summed without rounding."""
    generator = torch.Generator("cuda").manual_seed(0)
    a = torch.randint(-3, 4, (m, ONE_K), generator=generator, device="cuda").half()
    b = torch.randint(-1, 2, (ONE_N, ONE_K), generator=generator, device="cuda").half()
    expected = reference(a, b, NT)
    assert expected.abs().max() <= 2048
    assert torch.equal(ops[NT](a, b).double(), expected)


@pytest.mark.parametrize("m", [1, 3, 16, 100, 200])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_values_that_are_no_numbers(ops, m, value):
    """NaN and infinities spread as in torch, and reach no other row or column."""
    a, b = operands(m, ONE_N, ONE_K, NT, BF16)
    a[0, ONE_K - 1] = value
    b[3, 5] = value
    b[7, ONE_K - 1] = 0.0
    d, expected = ops[NT](a, b), torch.mm(a, b.T)
    assert torch.equal(d.isnan(), expected.isnan())
    assert torch.equal(d.isinf(), expected.isinf())
    finite = expected.isfinite()
    torch.testing.assert_close(d[finite], expected[finite], rtol=2e-2, atol=0.5)


@pytest.mark.parametrize("m", [1, 3, 16, 100, 200])
def test_sums_beyond_float16_are_infinite(ops, m):
    """A product that float16 does not hold becomes an infinity of its sign, as in torch."""
    a = torch.full((m, ONE_K), 1e4, device="cuda", dtype=F16)
    b = torch.full((ONE_N, ONE_K), 1e4, device="cuda", dtype=F16)
    b[::2] *= -1
    assert torch.equal(ops[NT](a, b), torch.mm(a, b.T))


@pytest.mark.parametrize("m", [1, 3, 16, 100, 200])
@pytest.mark.parametrize(
    "view",
    [
        pytest.param(lambda t: t.t().contiguous().t(), id="transposed"),
        pytest.param(lambda t: torch.cat([t, t], 1)[:, : t.shape[1]], id="rows-apart"),
        pytest.param(
            lambda t: torch.cat([t[:1], t]).flatten()[1:][: t.numel()].view(t.shape),
            id="misaligned",
        ),
    ],
)
def test_any_layout_in_memory(ops, m, view):
    """Strided, transposed and misaligned operands give what dense copies give."""
    a, b = (view(one) for one in operands(m, ONE_N, ONE_K, NT, BF16))
    assert_close(ops[NT](a, b), reference(a, b, NT))


@pytest.mark.parametrize("m", [1, 3, 16, 100, 200])
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda m: torch.empty(m, ONE_N, device="cuda", dtype=BF16), id="dense"),
        pytest.param(lambda m: torch.empty(ONE_N, m, device="cuda", dtype=BF16).t(), id="strided"),
        pytest.param(
            lambda m: torch.empty(m * ONE_N + 1, device="cuda", dtype=BF16)[1:].view(m, ONE_N),
            id="misaligned",
        ),
    ],
)
def test_a_buffer(ops, m, make):
    """A buffer of any layout receives the product, all of it."""
    a, b = operands(m, ONE_N, ONE_K, NT, BF16)
    out = make(m).fill_(float("nan"))
    assert ops[NT](a, b, out=out) is out
    assert torch.equal(out, ops[NT](a, b))


@pytest.mark.parametrize("m", [1, 8, 128, 129])
def test_nothing_beyond_the_result_is_written(ops, m):
    """Rows around the result keep their values."""
    room = torch.full((m + 2, ONE_N), 7.0, device="cuda", dtype=BF16)
    ops[NT](*operands(m, ONE_N, ONE_K, NT, BF16), out=room[1:-1])
    assert (room[0] == 7.0).all()
    assert (room[-1] == 7.0).all()


@pytest.mark.parametrize("m", [1, 3, 16, 100, 200])
def test_another_stream(ops, m):
    """The launch goes to torch's current stream, and streams do not disturb each other."""
    a, b = operands(m, ONE_N, ONE_K, NT, BF16)
    expected = ops[NT](a, b)
    streams = [torch.cuda.Stream() for _ in range(2)]
    results = []
    for stream in streams:
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            # What runs on this stream before the launch fills the inputs that it reads.
            torch.cuda._sleep(1_000_000)
            results += [ops[NT](a.clone(), b.clone()) for _ in range(20)]
    torch.cuda.synchronize()
    assert all(torch.equal(one, expected) for one in results)


@pytest.mark.parametrize("m", [1, 3, 16, 100, 200])
def test_graph_capture_replays_with_new_contents(ops, m):
    """A captured launch reads what its operands hold at every replay; chains do not race."""
    a, b = operands(m, ONE_N, ONE_K, NT, BF16)
    ops[NT](a, b)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        d = ops[NT](a, b)
        again = ops[NT](a * 0.5, b) * 2.0
    for seed in (7, 8):
        for one, contents in zip((a, b), operands(m, ONE_N, ONE_K, NT, BF16, seed), strict=True):
            one.copy_(contents)
        graph.replay()
        torch.cuda.synchronize()
        assert_close(d, reference(a, b, NT))
        assert torch.equal(again, d)


@pytest.mark.parametrize("m", [1, 16, 200])
def test_a_call_allocates_only_its_result(ops, m):
    """No kernel keeps or takes a workspace."""
    a, b = operands(m, ONE_N, ONE_K, NT, BF16)
    ops[NT](a, b)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    d = ops[NT](a, b)
    assert torch.cuda.memory_allocated() - before == -(-d.nbytes // 512) * 512


def test_products_without_elements(ops):
    """Nothing is launched for them."""
    a, b = operands(0, ONE_N, ONE_K, NT, BF16)
    assert ops[NT](a, b).shape == (0, ONE_N)
    a, b = operands(4, 0, ONE_K, NT, BF16)
    assert ops[NT](a, b).shape == (4, 0)


@pytest.mark.parametrize("k", [0, 1, 7])
def test_short_sums_are_refused(ops, k):
    """A sum over less than one vector runs no kernel."""
    with pytest.raises(ValueError, match="k must span at least one"):
        ops[NT](*operands(64, 64, k, NT, BF16))


@pytest.mark.parametrize("m", [1, 16, 200])
def test_compiled_by_inductor(ops, m):
    """Compiled with what surrounds it, the op gives the same results."""
    torch.compiler.reset()
    op = ops[NT]
    function = torch.compile(lambda a, b: op(a, b) + 1, fullgraph=True)
    a, b = operands(m, ONE_N, ONE_K, NT, BF16)
    assert torch.equal(function(a, b), op(a, b) + 1)


def test_offsets_beyond_32_bits(ops):
    """Results of more than 2^31 elements are right in their first and last rows."""
    m, n, k = 65536, 40960, 64
    if torch.cuda.mem_get_info()[0] < 3 * m * n * 2:
        pytest.skip("needs 16 GB of device memory")
    a, b = operands(m, n, k, NT, BF16)
    d = ops[NT](a, b)
    for part in (slice(0, 200), slice(m - 200, m)):
        assert_close(d[part], reference(a[part], b, NT))
