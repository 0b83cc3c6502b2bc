"""GemmFwdOp's own part of a call, with a registered CPU implementation for the rest.

The implementation checks what the interface promises it; the expected values are torch's, in
float64.
"""

import pytest
import torch

from ops.gemm.cpu_product import CpuGemmFwdOp
from tileops.errors import (
    ArgumentTypeError,
    BufferShapeError,
    DtypeMismatchError,
    ForwardOnlyError,
    MissingInputError,
    ShapeMismatchError,
    UnservedCallError,
)
from tileops.kernels.gemm.call_spec import GemmCall
from tileops.ops.gemm.gemm import GemmFwdOp

LAYOUTS = pytest.mark.parametrize(
    ("trans_a", "trans_b"),
    [
        pytest.param(False, False, id="nn"),
        pytest.param(False, True, id="nt"),
        pytest.param(True, False, id="tn"),
        pytest.param(True, True, id="tt"),
    ],
)
DTYPES = pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [pytest.param(torch.float16, 2e-3, id="fp16"), pytest.param(torch.bfloat16, 1.6e-2, id="bf16")],
)


def stored(rows, columns, transposed, dtype=torch.float16):
    return torch.randn(*((columns, rows) if transposed else (rows, columns))).to(dtype)


def check(op, a, b, out=None, tolerance=2e-3):
    """Call *op* and compare with torch in float64; the inputs stay as they are."""
    before = a.clone(), b.clone()
    d = op(a, b) if out is None else op(a, b, out=out)
    wide_a, wide_b = (one.double() for one in before)
    expected = (wide_a.T if op.trans_a else wide_a) @ (wide_b.T if op.trans_b else wide_b)
    torch.testing.assert_close(d.double(), expected, rtol=tolerance, atol=tolerance)
    assert (d.shape, d.dtype) == (expected.shape, a.dtype)
    assert torch.equal(a, before[0])
    assert torch.equal(b, before[1])
    return d


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@LAYOUTS
@DTYPES
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        pytest.param(1, 1, 8, id="smallest"),
        pytest.param(3, 5, 8, id="one-vector"),
        pytest.param(17, 33, 40, id="odd-m-and-n"),
        pytest.param(16, 24, 21, id="odd-k"),
    ],
)
def test_sizes_and_layouts(trans_a, trans_b, dtype, tolerance, m, n, k):
    """Each layout gives torch's product of the matrices that it stands for."""
    op = CpuGemmFwdOp(trans_a, trans_b)
    d = check(op, stored(m, k, trans_a, dtype), stored(k, n, trans_b, dtype), tolerance=tolerance)
    assert d.is_contiguous()


def test_a_linear_layer_is_the_default():
    """The second operand is stored as the weight of torch.nn.Linear is."""
    op = CpuGemmFwdOp()
    assert (op.trans_a, op.trans_b) == (False, True)
    x, weight = torch.randn(3, 16).half(), torch.randn(5, 16).half()
    torch.testing.assert_close(op(x, weight), torch.nn.functional.linear(x, weight))


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: torch.randn(16, 6).half().t(), id="transposed"),
        pytest.param(lambda: torch.randn(6, 32).half()[:, ::2], id="strided"),
        pytest.param(lambda: torch.randn(6, 17).half()[:, 1:], id="rows-apart"),
        pytest.param(lambda: torch.randn(97).half()[1:].view(6, 16), id="misaligned"),
        pytest.param(lambda: torch.randn(1, 16).half().expand(6, 16), id="expanded"),
    ],
)
def test_layouts_in_memory(make):
    """Whatever the strides and the offset, the kernel gets dense aligned data, every time."""
    op = CpuGemmFwdOp()
    for _ in range(3):
        check(op, make(), torch.randn(5, 16).half())
        check(op, torch.randn(5, 16).half(), make())


def test_one_tensor_as_both_operands():
    """A matrix may be multiplied by itself."""
    a = torch.randn(16, 16).half()
    check(CpuGemmFwdOp(), a, a)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: torch.empty(3, 5).half(), id="dense"),
        pytest.param(lambda: torch.empty(5, 3).half().t(), id="transposed"),
        pytest.param(lambda: torch.empty(3, 10).half()[:, ::2], id="strided"),
        pytest.param(lambda: torch.empty(16).half()[1:].view(3, 5), id="misaligned"),
    ],
)
def test_a_buffer_receives_the_product(make):
    """The buffer given is written whole and returned, by later calls as by the first."""
    op, b = CpuGemmFwdOp(), torch.randn(5, 16).half()
    for _ in range(3):
        out = make().fill_(float("nan"))
        assert check(op, torch.randn(3, 16).half(), b, out=out) is out
    check(op, torch.randn(3, 16).half(), b)


@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        pytest.param(0, 5, 16, id="no-rows"),
        pytest.param(3, 0, 16, id="no-columns"),
        pytest.param(0, 0, 16, id="neither"),
        pytest.param(0, 5, 0, id="no-rows-no-sum"),
    ],
)
@LAYOUTS
def test_a_product_without_elements(m, n, k, trans_a, trans_b):
    """It is returned without a kernel, and so is a buffer for it."""
    op = CpuGemmFwdOp(trans_a, trans_b)
    a, b = stored(m, k, trans_a), stored(k, n, trans_b)
    d = op(a, b)
    assert (d.shape, d.dtype) == ((m, n), torch.float16)
    out = torch.empty(m, n).half()
    assert op(a, b, out=out) is out
    assert list(op.iter_kernels()) == []


@pytest.mark.parametrize("k", [0, 1, 7])
def test_a_short_sum_is_refused(k):
    """A sum over less than a vector is refused, one over nothing too."""
    op = CpuGemmFwdOp()
    with pytest.raises(UnservedCallError, match=f"k must span at least 8 elements, got {k}"):
        op(torch.zeros(3, k).half(), torch.zeros(5, k).half())
    check(op, torch.randn(3, 8).half(), torch.randn(5, 8).half())


def half(*shape):
    return torch.zeros(*shape, dtype=torch.float16)


@pytest.mark.parametrize(
    ("a", "b", "error", "says"),
    [
        pytest.param(half(3, 16), half(5, 8), ShapeMismatchError, "b", id="another-k"),
        pytest.param(half(3, 16), half(16, 5), ShapeMismatchError, "b", id="another-layout"),
        pytest.param(half(16), half(5, 16), ShapeMismatchError, "a", id="a-vector"),
        pytest.param(half(2, 3, 16), half(5, 16), ShapeMismatchError, "a", id="a-batch"),
        pytest.param(half(3, 16), half(5, 16).bfloat16(), DtypeMismatchError, "b", id="dtypes"),
        pytest.param(
            half(3, 16).float(), half(5, 16).float(), DtypeMismatchError, "float16", id="fp32"
        ),
        pytest.param(half(3, 16), None, MissingInputError, "b", id="no-b"),
    ],
)
def test_operands_that_do_not_fit(a, b, error, says):
    """The error names the tensor that does not fit and what was required of it."""
    with pytest.raises(error, match=says):
        CpuGemmFwdOp()(a, b)


@pytest.mark.parametrize(
    ("out", "error"),
    [
        pytest.param(half(5, 3), BufferShapeError, id="transposed-shape"),
        pytest.param(half(3, 6), BufferShapeError, id="too-wide"),
        pytest.param(half(3, 5).float(), DtypeMismatchError, id="float32"),
    ],
)
def test_buffers_that_do_not_fit(out, error):
    """A buffer has the product's shape and dtype, before anything is written."""
    with pytest.raises(error, match="out"):
        CpuGemmFwdOp()(half(3, 16), half(5, 16), out=out)


def test_operands_that_require_a_gradient():
    """The op is a forward pass alone, and says so."""
    a = torch.randn(3, 16).half().requires_grad_()
    with pytest.raises(ForwardOnlyError, match="a"):
        CpuGemmFwdOp()(a, half(5, 16))


@pytest.mark.parametrize("value", [None, 1, "yes"])
def test_layouts_are_bools(value):
    """A layout is true or false, not something that could be mistaken for either."""
    with pytest.raises(ArgumentTypeError, match="trans_b"):
        GemmFwdOp(trans_b=value)


def test_one_build_serves_every_number_of_rows():
    """A new batch size builds nothing."""
    op, b = CpuGemmFwdOp(), torch.randn(5, 16).half()
    for m in range(1, 40):
        check(op, torch.randn(m, 16).half(), b)
    assert len(list(op.iter_kernels())) == 1


@LAYOUTS
def test_requests_are_a_function_of_descriptions(trans_a, trans_b):
    """The request of a call is known from shapes, dtype and device, on a machine without them."""
    op = GemmFwdOp(trans_a, trans_b)
    a = torch.empty(*((16, 3) if trans_a else (3, 16)), device="meta", dtype=torch.bfloat16)
    b = torch.empty(*((5, 16) if trans_b else (16, 5)), device="meta", dtype=torch.bfloat16)
    assert op.requests(a, b) == (
        (
            "gemm",
            GemmCall("meta", m=3, n=5, k=16, dtype=a.dtype, trans_a=trans_a, trans_b=trans_b),
        ),
    )
