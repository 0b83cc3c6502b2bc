"""The row norms on a CUDA device against float64: every width region, dtype, layout and value."""

from __future__ import annotations

import pytest
import torch

from ops.norm import row_norm_references as reference
from ops.norm.row_norm_references import tensors
from tileops import (
    AdaLayerNormFwdOp,
    AdaLayerNormZeroFwdOp,
    FusedAddLayerNormFwdOp,
    FusedAddRMSNormFwdOp,
    LayerNormFwdOp,
    RMSNormFwdOp,
)

pytestmark = pytest.mark.gpu

F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32

POINTS = [
    pytest.param((1, 4096), BF16, id="one-row"),
    pytest.param((2048, 4096), F16, id="4096-f16"),
    pytest.param((32768, 1024), BF16, id="1024-many-rows"),
    pytest.param((128, 2880), BF16, id="2880"),
    pytest.param((77, 1152), F16, id="1152"),
    pytest.param((5, 7168), BF16, id="7168"),
    pytest.param((3, 16384), F32, id="16384-f32"),
    pytest.param((2, 65536), BF16, id="65536"),
    pytest.param((2, 131072), F16, id="131072"),
    pytest.param((1, 262144), BF16, id="262144"),
    pytest.param((2, 262144), F32, id="262144-f32"),
    pytest.param((1, 300001), F16, id="odd-beyond-the-widest"),
    pytest.param((1, 1000000), BF16, id="a-million"),
    pytest.param((4, 1), F16, id="one-element-f16"),
    pytest.param((4, 1), BF16, id="one-element-bf16"),
    pytest.param((4, 1), F32, id="one-element-f32"),
    pytest.param((4, 2), F16, id="two-elements"),
    pytest.param((9, 7), F16, id="7"),
    pytest.param((33, 8), F16, id="8"),
    pytest.param((33, 9), F16, id="9"),
    pytest.param((16, 127), BF16, id="127"),
    pytest.param((16, 129), BF16, id="129"),
    pytest.param((100, 255), F16, id="255"),
    pytest.param((100, 256), F16, id="256"),
    pytest.param((100, 257), F16, id="257"),
    pytest.param((7, 999), BF16, id="999-odd-row-starts"),
    pytest.param((1025, 3000), F16, id="3000"),
    pytest.param((2, 3, 5, 4096), BF16, id="leading-dims"),
    pytest.param((64, 64), F32, id="64-f32"),
    pytest.param((5, 32768), F16, id="32768"),
    pytest.param((3, 12288), BF16, id="12288"),
]


def wide_relative(shape, dtype):
    """Rows of 64k float32 elements and more may be off by a little more than short ones."""
    return 5e-6 if dtype is F32 and shape[-1] >= 65536 else None


@pytest.mark.parametrize(("shape", "dtype"), POINTS)
class TestEveryWidth:
    """Each op agrees with its definition, leaves its inputs alone, and repeats bit by bit."""

    def check(self, op, inputs, expected, shape):
        kept = [one.clone() for one in inputs]
        outputs = op(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        again = op(*inputs)
        again = again if isinstance(again, tuple) else (again,)
        for output, repeat, value in zip(outputs, again, expected, strict=True):
            reference.assert_close(output, value, relative=wide_relative(shape, output.dtype))
            assert torch.equal(output, repeat)
        assert all(torch.equal(one, other) for one, other in zip(inputs, kept, strict=True))

    def test_layer_norm(self, shape, dtype):
        x, weight, bias = inputs = tensors(shape, dtype, 1, 2)
        expected = reference.layer_norm(x, weight, bias, 1e-5)
        self.check(LayerNormFwdOp(shape[-1]), inputs, [expected], shape)

    def test_rms_norm(self, shape, dtype):
        x, weight = inputs = tensors(shape, dtype, 1, 1)
        expected = reference.rms_norm(x, weight, 1e-6)
        self.check(RMSNormFwdOp(shape[-1], 1e-6), inputs, [expected], shape)

    def test_fused_add_layer_norm(self, shape, dtype):
        x, residual, weight, bias = inputs = tensors(shape, dtype, 2, 2)
        total = x + residual
        expected = reference.layer_norm(total, weight, bias, 1e-5)
        op = FusedAddLayerNormFwdOp()
        self.check(op, inputs, [expected, total.double()], shape)
        assert torch.equal(op(*inputs)[1], total)

    def test_fused_add_rms_norm(self, shape, dtype):
        x, residual, weight = inputs = tensors(shape, dtype, 2, 1)
        total = x + residual
        expected = reference.rms_norm(total, weight, 1e-6)
        op = FusedAddRMSNormFwdOp()
        self.check(op, inputs, [expected, total.double()], shape)
        assert torch.equal(op(*inputs)[1], total)

    def test_ada_layer_norm(self, shape, dtype):
        x, scale, shift = inputs = tensors(shape, dtype, 3)
        expected = reference.ada_layer_norm(x, scale, shift, 1e-5)
        self.check(AdaLayerNormFwdOp(), inputs, [expected], shape)

    def test_ada_layer_norm_zero(self, shape, dtype):
        x, scale, shift, gate = inputs = tensors(shape, dtype, 4)
        expected = reference.ada_layer_norm_zero(x, scale, shift, gate, 1e-5)
        self.check(AdaLayerNormZeroFwdOp(), inputs, [expected], shape)


@pytest.mark.parametrize(
    "layout",
    [
        pytest.param(lambda x: x[:, ::2], id="every-second-column"),
        pytest.param(lambda x: x.t().contiguous().t(), id="transposed"),
        pytest.param(lambda x: x.flatten()[1 : 1 + 64 * 512].view(64, 512), id="misaligned-base"),
        pytest.param(lambda x: x[::2], id="every-second-row"),
    ],
)
def test_any_layout_of_the_input(layout):
    """Strided, transposed and misaligned inputs give what a dense copy gives."""
    x = layout(tensors((128, 1024), BF16)[0])
    weight, bias = tensors(x.shape, BF16, 0, 2)
    expected = reference.layer_norm(x, weight, bias, 1e-5)
    reference.assert_close(LayerNormFwdOp(x.shape[-1])(x, weight, bias), expected)


def test_strided_and_misaligned_vectors():
    """Weight and bias may be views."""
    x = tensors((8, 512), F16)[0]
    pool = tensors((2048,), F16)[0]
    weight, bias = pool[::2][:512], pool[1:513]
    expected = reference.layer_norm(x, weight, bias, 1e-5)
    reference.assert_close(LayerNormFwdOp(512)(x, weight, bias), expected)


@pytest.mark.parametrize("given", ["neither", "weight", "bias"])
def test_absent_vectors(given):
    """An absent weight is ones, an absent bias zeros."""
    x, weight, bias = tensors((16, 768), BF16, 1, 2)
    ones, zeros = torch.ones_like(weight), torch.zeros_like(bias)
    arguments = {"neither": {}, "weight": {"weight": weight}, "bias": {"bias": bias}}[given]
    expected = reference.layer_norm(
        x, arguments.get("weight", ones), arguments.get("bias", zeros), 1e-5
    )
    reference.assert_close(LayerNormFwdOp(768)(x, **arguments), expected)
    if "bias" not in arguments:
        expected = reference.rms_norm(x, arguments.get("weight", ones), torch.finfo(BF16).eps)
        reference.assert_close(RMSNormFwdOp(768)(x, **arguments), expected)


def test_several_trailing_dims():
    """Two normalized dims are one row."""
    x = tensors((6, 16, 32), F16)[0]
    weight, bias = tensors((16, 32), F16, 2)
    expected = reference.layer_norm(x.view(6, 512), weight.view(-1), bias.view(-1), 1e-5)
    output = LayerNormFwdOp((16, 32))(x, weight, bias)
    assert output.shape == x.shape
    reference.assert_close(output.view(6, 512), expected)


@pytest.mark.parametrize(
    ("dtype", "mean", "relative"),
    [
        pytest.param(F32, 1e4, 1e-3, id="f32-mean-1e4"),
        pytest.param(F16, 2000.0, 5e-4, id="f16-mean-2000"),
    ],
)
@pytest.mark.parametrize("n", [1024, 4096, 65536])
def test_a_large_mean_costs_no_accuracy(dtype, mean, relative, n):
    """The variance is that of the deviations, whatever the mean."""
    x = (tensors((4, n), F32)[0] + mean).to(dtype)
    weight, bias = (
        torch.ones(n, device="cuda", dtype=dtype),
        torch.zeros(n, device="cuda", dtype=dtype),
    )
    expected = reference.layer_norm(x, weight, bias, 1e-5)
    output = LayerNormFwdOp(n)(x, weight, bias)
    assert (output.double() - expected).norm() <= relative * expected.norm()


@pytest.mark.parametrize("eps", [1e-12, 1e-5, 1e-3])
def test_constant_rows_become_the_bias(eps):
    """A row without variance is the bias, exactly."""
    n = 640
    x = torch.full((3, n), 1.5, device="cuda", dtype=BF16)
    weight, bias = tensors((3, n), BF16, 0, 2)
    assert torch.equal(LayerNormFwdOp(n, eps)(x, weight, bias), bias.expand(3, n))


def test_one_element_rows():
    """A row of one element is its bias; its RMS norm is the sign times the weight."""
    x = torch.tensor([[3.0], [-2.0], [0.0]], device="cuda")
    weight, bias = torch.tensor([2.0], device="cuda"), torch.tensor([0.25], device="cuda")
    assert torch.equal(LayerNormFwdOp(1)(x, weight, bias), bias.expand(3, 1))
    torch.testing.assert_close(
        RMSNormFwdOp(1, 1e-12)(x, weight), torch.tensor([[2.0], [-2.0], [0.0]], device="cuda")
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("n", [129, 4096, 65536])
def test_values_that_are_no_numbers(value, n):
    """NaN and infinities give what the definition gives, and stay in their row."""
    x = tensors((3, n), F32)[0]
    x[1, n // 2] = value
    weight, bias = tensors((3, n), F32, 0, 2)
    expected = torch.nn.functional.layer_norm(x, (n,), weight, bias)
    output = LayerNormFwdOp(n)(x, weight, bias)
    assert torch.equal(output.isnan(), expected.isnan())
    torch.testing.assert_close(output[::2], expected[::2], rtol=2e-5, atol=2e-5)
    # An infinite mean square turns every finite element into zero and an infinite one into NaN;
    # torch agrees on widths that it vectorizes, and gives NaN throughout on the others.
    expected = reference.rms_norm(x, weight, 1e-6)
    output = RMSNormFwdOp(n, 1e-6)(x, weight)
    assert torch.equal(output.isnan(), expected.isnan())
    torch.testing.assert_close(output.double(), expected, rtol=2e-5, atol=2e-5, equal_nan=True)


def test_extreme_magnitudes():
    """The largest float16 values do not overflow the sums, the smallest float32 do not vanish."""
    x = torch.full((2, 4096), 65504.0, device="cuda", dtype=F16)
    x[:, ::2] *= -1
    weight = torch.ones(4096, device="cuda", dtype=F16)
    reference.assert_close(RMSNormFwdOp(4096, 1e-6)(x, weight), reference.rms_norm(x, weight, 1e-6))
    tiny = tensors((2, 512), F32)[0] * 1e-30
    ones, zeros = torch.ones(512, device="cuda"), torch.zeros(512, device="cuda")
    output = LayerNormFwdOp(512)(tiny, ones, zeros)
    torch.testing.assert_close(output.double(), reference.layer_norm(tiny, ones, zeros, 1e-5))


def test_a_sum_that_overflows():
    """A residual sum beyond float16 is infinite, as in torch, and its row no number."""
    x = torch.full((1, 256), 60000.0, device="cuda", dtype=F16)
    weight = torch.ones(256, device="cuda", dtype=F16)
    output, total = FusedAddRMSNormFwdOp()(x, x, weight)
    assert torch.equal(total, x + x)
    assert total.isinf().all()
    assert output.isnan().all()


def test_a_tensor_added_to_itself():
    """x and residual may be one tensor."""
    x, weight = tensors((5, 512), BF16, 1, 1)
    output, total = FusedAddRMSNormFwdOp()(x, x, weight)
    assert torch.equal(total, x + x)
    reference.assert_close(output, reference.rms_norm(x + x, weight, 1e-6))


def test_scales_and_gates_of_zero():
    """A scale of zero leaves the shift, a gate of zero nothing."""
    x, shift = tensors((4, 256), BF16, 2)
    zero = torch.zeros_like(x)
    assert torch.equal(AdaLayerNormFwdOp()(x, zero, shift), shift)
    assert torch.equal(AdaLayerNormZeroFwdOp()(x, x, shift, zero).abs(), zero)


def test_no_rows():
    """A call without rows launches nothing."""
    x, weight, bias = torch.empty(0, 4096, device="cuda"), *torch.ones(2, 4096, device="cuda")
    op = LayerNormFwdOp(4096)
    assert op(x, weight, bias).shape == (0, 4096)
    assert list(op.iter_kernels()) == []


def test_growing_row_counts_compile_one_program():
    """Every row count runs the program built for the first one."""
    weight, bias = tensors((1, 512), F16, 0, 2)
    op = LayerNormFwdOp(512)
    for rows in range(1, 301):
        x = tensors((rows, 512), F16, seed=rows)[0]
        reference.assert_close(op(x, weight, bias), reference.layer_norm(x, weight, bias, 1e-5))
    assert len(list(op.iter_kernels())) == 1


def test_more_than_2_to_the_31_elements():
    """Offsets beyond 32 bits are right: the first and the last rows of a huge input."""
    rows, n = 40000, 65536
    if torch.cuda.mem_get_info()[0] < 3 * rows * n * 2:
        pytest.skip("needs 16 GB of device memory")
    x = torch.empty(rows, n, device="cuda", dtype=BF16).normal_()
    weight, bias = tensors((1, n), BF16, 0, 2)
    output = LayerNormFwdOp(n)(x, weight, bias)
    for part in (slice(0, 2), slice(rows - 2, rows)):
        reference.assert_close(output[part], reference.layer_norm(x[part], weight, bias, 1e-5))


def test_epsilons_are_built_separately():
    """Two epsilons are two programs."""
    x, weight, bias = tensors((4, 128), F32, 1, 2)
    x *= 1e-4
    for eps in (1e-12, 1e-3):
        output = LayerNormFwdOp(128, eps)(x, weight, bias)
        reference.assert_close(output, reference.layer_norm(x, weight, bias, eps))
