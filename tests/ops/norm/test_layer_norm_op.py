"""LayerNormFwdOp's own part of a call, with a registered CPU implementation for the rest.

The implementation checks what the interface promises it; the expected values are torch's, in
float64.
"""

import pytest
import torch
import torch.nn.functional as F

from tileops.backend import Registry
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.call_spec import LayerNormCall, LayerNormFwdInterface
from tileops.ops.norm.layer_norm import LayerNormFwdOp

DTYPES = [
    pytest.param(torch.float32, 1e-5, id="fp32"),
    pytest.param(torch.float16, 2e-3, id="fp16"),
    pytest.param(torch.bfloat16, 1.6e-2, id="bf16"),
]


class CpuLayerNorm(Kernel, LayerNormFwdInterface):
    """Layer normalization by its formula, on rows of ``n``."""

    devices = frozenset({"cpu"})

    def __init__(self, call: LayerNormCall) -> None:
        super().__init__(call)
        self.call = call

    def forward(self, x, weight, bias):
        for tensor in (x, weight, bias):
            assert tensor.is_contiguous()
            assert tensor.data_ptr() % 16 == 0
            assert tensor.dtype == self.call.dtype
        assert weight.numel() == bias.numel() == self.call.n
        rows = x.reshape(-1, self.call.n).float()
        centred = rows - rows.mean(1, keepdim=True)
        scale = (centred.square().mean(1, keepdim=True) + self.call.eps).rsqrt()
        y = centred * scale * weight.reshape(-1).float() + bias.reshape(-1).float()
        return y.to(x.dtype).reshape(x.shape)


class CpuLayerNormFwdOp(LayerNormFwdOp):
    """The op with a registry of its own."""

    registry = Registry(known_ops=lambda: {"CpuLayerNormFwdOp"}, entry_points=tuple)


CpuLayerNormFwdOp.registry.register_kernel_type("CpuLayerNormFwdOp", "cpu_rows", CpuLayerNorm)


def check(op, x, weight=None, bias=None, tolerance=1e-5):
    """Call *op* and compare with torch in float64; the inputs stay as they are."""
    given = [x, weight, bias]
    before = [None if one is None else one.clone() for one in given]
    y = op(x, weight, bias)
    wide = [None if one is None else one.double() for one in before]
    expected = F.layer_norm(wide[0], op.normalized_shape, wide[1], wide[2], op.eps)
    torch.testing.assert_close(y.double(), expected, rtol=tolerance, atol=tolerance)
    assert (y.shape, y.dtype, y.device) == (x.shape, x.dtype, x.device)
    assert y.is_contiguous()
    assert all(
        one is None or torch.equal(one, same) for one, same in zip(given, before, strict=True)
    )
    assert y.untyped_storage().data_ptr() not in {
        one.untyped_storage().data_ptr() for one in given if one is not None
    }
    return y


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@pytest.mark.parametrize(
    ("leading", "shape"),
    [
        pytest.param((), 8, id="no-leading-dim"),
        pytest.param((1,), 8, id="one-row"),
        pytest.param((5,), 8, id="rows"),
        pytest.param((2, 3, 4), 8, id="three-leading-dims"),
        pytest.param((3,), 1, id="n-1"),
        pytest.param((3,), 257, id="odd-width"),
        pytest.param((2, 3), (4, 8), id="two-normalized-dims"),
        pytest.param((2,), (2, 3, 5), id="three-normalized-dims"),
        pytest.param((), (4, 8), id="everything-normalized"),
        pytest.param((4,), [8], id="shape-as-list"),
        pytest.param((4,), torch.Size([2, 8]), id="shape-as-torch-size"),
    ],
)
def test_shapes(leading, shape, dtype, tolerance):
    """Any leading shape and any number of normalized dims give torch's result."""
    op = CpuLayerNormFwdOp(shape)
    trailing = op.normalized_shape
    x = torch.randn(*leading, *trailing, dtype=dtype) * 3 + 2
    weight, bias = torch.randn(trailing, dtype=dtype), torch.randn(trailing, dtype=dtype)
    check(op, x, weight, bias, tolerance)


@pytest.mark.parametrize("has_weight", [False, True], ids=["no-weight", "weight"])
@pytest.mark.parametrize("has_bias", [False, True], ids=["no-bias", "bias"])
@pytest.mark.parametrize("shape", [(16,), (2, 8)], ids=["one-dim", "two-dims"])
def test_weight_and_bias_are_optional(has_weight, has_bias, shape):
    """An absent weight is ones and an absent bias zeros, each by itself."""
    weight = torch.randn(shape) if has_weight else None
    bias = torch.randn(shape) if has_bias else None
    check(CpuLayerNormFwdOp(shape), torch.randn(3, *shape), weight, bias)


def test_presence_may_change_between_calls():
    """One instance serves calls with and without weight and bias in turn."""
    op, x = CpuLayerNormFwdOp(16), torch.randn(3, 16)
    weight, bias = torch.randn(16), torch.randn(16)
    for _ in range(2):
        for w in (None, weight):
            for b in (None, bias):
                check(op, x, w, b)


def offset_view(*shape):
    """Return a contiguous tensor whose data starts 4 bytes after an aligned address."""
    count = torch.Size(shape).numel()
    view = torch.randn(count + 1)[1:].view(shape)
    assert view.is_contiguous()
    assert view.data_ptr() % 16 == 4
    return view


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: torch.randn(6, 32)[:, ::2], id="strided-rows"),
        pytest.param(lambda: torch.randn(6, 32)[::2, :16], id="every-second-row"),
        pytest.param(lambda: torch.randn(16, 6).t(), id="transposed"),
        pytest.param(lambda: torch.randn(2, 16, 3).permute(2, 0, 1), id="permuted"),
        pytest.param(lambda: torch.randn(1, 16).expand(5, 16), id="expanded-rows"),
        pytest.param(lambda: torch.randn(2, 1, 16).expand(2, 3, 16), id="expanded-middle"),
        pytest.param(lambda: torch.randn(5, 32)[:, 16:], id="second-half"),
        pytest.param(lambda: offset_view(6, 16), id="misaligned"),
        pytest.param(lambda: torch.randn(6, 17)[:, 1:], id="misaligned-and-strided"),
        pytest.param(lambda: torch.randn(4, 4, 16)[1], id="slice"),
    ],
)
def test_input_layouts(make):
    """Whatever the strides and the storage offset, the kernel gets dense aligned data."""
    op = CpuLayerNormFwdOp(16)
    check(op, make(), torch.randn(16), torch.randn(16))
    check(op, make())


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: torch.randn(32)[::2], id="strided"),
        pytest.param(lambda: torch.randn(1).expand(16), id="expanded"),
        pytest.param(lambda: offset_view(16), id="misaligned"),
        pytest.param(lambda: torch.randn(16, 2)[:, 1], id="column"),
    ],
)
def test_weight_and_bias_layouts(make):
    """Weight and bias may have any layout too."""
    op, x = CpuLayerNormFwdOp(16), torch.randn(3, 16)
    check(op, x, make(), make())
    check(op, x, make())
    check(op, x, None, make())


def test_transposed_weight_of_two_dims():
    """A weight over two normalized dims keeps its meaning when its strides are swapped."""
    op = CpuLayerNormFwdOp((4, 8))
    check(op, torch.randn(3, 4, 8), torch.randn(8, 4).t(), torch.randn(8, 4).t())


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: torch.randn(3, 16), id="dense"),
        pytest.param(lambda: torch.randn(16, 3).t(), id="transposed"),
        pytest.param(lambda: offset_view(3, 16), id="misaligned"),
    ],
)
def test_later_calls_use_their_own_data(make):
    """A call that runs by the plan of an earlier one reads its own tensors."""
    op = CpuLayerNormFwdOp(16)
    for _ in range(3):
        check(op, make(), torch.randn(16), offset_view(16))


def test_layout_may_change_between_calls():
    """A plan made for dense data is not used for strided data of the same shape, or the reverse."""
    op = CpuLayerNormFwdOp(16)
    layouts = [torch.randn(4, 16), torch.randn(16, 4).t(), offset_view(4, 16)]
    for x in layouts * 2 + layouts[::-1]:
        check(op, x)


def test_later_results_are_new_tensors():
    """No call returns the storage of an earlier result."""
    op, x = CpuLayerNormFwdOp(16), torch.randn(3, 16)
    first = check(op, x)
    kept = first.clone()
    second = op(x * 2 + 1)
    assert first.data_ptr() != second.data_ptr()
    assert torch.equal(first, kept)


@pytest.mark.parametrize("eps", [0.0, 1e-5, 1.0])
def test_eps(eps):
    """The op's epsilon reaches the kernel."""
    check(CpuLayerNormFwdOp(16, eps), torch.randn(3, 16) * 1e-2)


def test_one_build_serves_every_number_of_rows():
    """Width, epsilon and dtype identify the build; the number of rows does not."""
    op = CpuLayerNormFwdOp(16)
    for rows in (1, 3, 64):
        op(torch.randn(rows, 16))
    op(torch.randn(2, 2, 16))
    (built,) = op.iter_kernels()
    assert built.kernel.call == LayerNormCall("cpu", n=16, eps=1e-5, dtype=torch.float32)
    op(torch.randn(3, 16, dtype=torch.float16))
    assert len(list(op.iter_kernels())) == 2


def test_requests_are_a_function_of_descriptions():
    """The request of a call is known from shape, dtype and device, on a machine without them."""
    op = CpuLayerNormFwdOp((4, 8), eps=1e-3)
    x = torch.empty(3, 4, 8, device="meta", dtype=torch.bfloat16)
    assert op.requests(x, None, None) == (
        ("layer_norm", LayerNormCall("meta", n=32, eps=1e-3, dtype=torch.bfloat16)),
    )
