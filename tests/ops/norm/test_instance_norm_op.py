"""InstanceNormFwdOp's own part of a call, with CPU kernels for the rest.

The kernels check what the interfaces promise them; the expected values are torch's, in float64.
"""

import pytest
import torch
import torch.nn.functional as F

from ops.norm.cpu_channels import CpuInstanceNormFwdOp
from tileops.errors import ForwardOnlyError, SignatureError

SHAPES = [
    pytest.param((3, 5, 8), id="one-spatial-dim"),
    pytest.param((3, 5, 4, 6), id="two"),
    pytest.param((2, 3, 4, 3, 5), id="three"),
    pytest.param((2, 1, 7), id="one-channel"),
    pytest.param((1, 4, 9), id="one-sample"),
    pytest.param((2, 4, 2), id="two-values"),
]
DTYPES = [
    pytest.param(torch.float32, 1e-5, id="fp32"),
    pytest.param(torch.float16, 2e-3, id="fp16"),
    pytest.param(torch.bfloat16, 1.6e-2, id="bf16"),
]


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def running(channels):
    return torch.randn(channels), torch.rand(channels) + 0.5


def check(op, x, mean=None, var=None, weight=None, bias=None, tolerance=1e-5):
    """Call *op* and compare with torch what it returns and what it writes."""
    before = [None if one is None else one.double() for one in (x, mean, var, weight, bias)]
    y = op(x, mean, var, weight, bias)
    expected = F.instance_norm(*before, op.use_input_stats, op.momentum, op.eps)
    torch.testing.assert_close(y.double(), expected, rtol=tolerance, atol=tolerance)
    if mean is not None:
        # torch has moved the copies, if it moves any.
        torch.testing.assert_close(mean.double(), before[1], rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(var.double(), before[2], rtol=1e-6, atol=1e-6)
    assert torch.equal(x.double(), before[0])
    assert y.is_contiguous()
    assert y.dtype == x.dtype


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@pytest.mark.parametrize("own", [True, False], ids=["own-statistics", "running-statistics"])
@pytest.mark.parametrize("shape", SHAPES)
def test_with_running_statistics(shape, own, dtype, tolerance):
    """By own statistics the running ones move, otherwise they normalize."""
    x = (torch.randn(shape) * 3 + 2).to(dtype)
    factors = [torch.randn(shape[1]).to(dtype) for _ in range(2)]
    check(CpuInstanceNormFwdOp(own), x, *running(shape[1]), *factors, tolerance)


@pytest.mark.parametrize("given", range(8), ids=lambda bits: f"{bits:03b}")
def test_weight_bias_and_running_statistics_are_optional(given):
    """Each is absent by itself, and presence may change between calls of one instance."""
    op, x = CpuInstanceNormFwdOp(), torch.randn(3, 5, 4)
    for bits in (given, 7, given, given):
        statistics = running(5) if bits & 4 else (None, None)
        weight = torch.randn(5) if bits & 2 else None
        bias = torch.randn(5) if bits & 1 else None
        check(op, x, *statistics, weight, bias)


@pytest.mark.parametrize(
    ("own", "given", "interface"),
    [
        pytest.param(True, False, "instance_norm", id="own"),
        pytest.param(True, True, "instance_norm_train", id="own-moving-running-ones"),
        pytest.param(False, True, "instance_norm_infer", id="running"),
    ],
)
def test_interfaces(own, given, interface):
    """What happens to the running statistics chooses the interface."""
    op = CpuInstanceNormFwdOp(own)
    op(torch.randn(2, 3, 4), *(running(3) if given else ()))
    (built,) = op.iter_kernels()
    assert built.interface == interface


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            lambda: torch.randn(3, 4, 5, 6).to(memory_format=torch.channels_last),
            id="channels-last",
        ),
        pytest.param(lambda: torch.randn(361)[1:].view(3, 4, 5, 6), id="misaligned"),
        pytest.param(lambda: torch.randn(4, 3, 5, 6).transpose(0, 1), id="transposed"),
    ],
)
def test_layouts(make):
    """Whatever the strides and the storage offset, the kernel gets dense aligned data."""
    op = CpuInstanceNormFwdOp()
    for _ in range(3):
        check(op, make(), None, None, torch.randn(8)[::2], torch.randn(4))


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 3, 0), (2, 0, 4)])
@pytest.mark.parametrize("own", [True, False])
def test_no_elements(shape, own):
    """Nothing runs and running statistics stay."""
    op, (mean, var) = CpuInstanceNormFwdOp(own), running(shape[1])
    kept = mean.clone(), var.clone()
    for _ in range(2):
        assert op(torch.empty(shape), mean, var).shape == shape
    assert torch.equal(mean, kept[0])
    assert torch.equal(var, kept[1])
    assert list(op.iter_kernels()) == []


@pytest.mark.parametrize(
    ("own", "tensors", "message"),
    [
        pytest.param(True, [(2, 3, 1)], "more than 1 spatial element", id="planes-of-one"),
        pytest.param(True, [(2, 3)], "more than 1 spatial element", id="no-spatial-dim"),
        pytest.param(False, [(2, 3, 4)], "running_mean", id="infer-without-statistics"),
        pytest.param(True, [(2, 3, 4), (3,)], "running_var", id="half-the-statistics"),
        pytest.param(True, [(2, 3, 4), None, None, (2,)], "weight", id="weight-too-short"),
        pytest.param(True, [(2, 3, 2, 1, 1, 1)], "at most three spatial dims", id="four-dims"),
    ],
)
def test_refused_shapes(own, tensors, message):
    """Shapes that do not fit are named, and the next good call is served."""
    op = CpuInstanceNormFwdOp(own)
    given = [None if shape is None else torch.ones(shape) for shape in tensors]
    with pytest.raises(SignatureError, match=message):
        op(*given)
    op(torch.randn(2, 3, 4), *running(3))


def test_planes_of_one_element_by_running_statistics():
    """They need no statistics of their own."""
    check(CpuInstanceNormFwdOp(False), torch.randn(2, 3, 1), *running(3))


def test_forward_only():
    """An input that requires a gradient is refused, in the op's name."""
    x = torch.randn(2, 3, 4, requires_grad=True)
    with pytest.raises(ForwardOnlyError, match="InstanceNormFwdOp: input requires a gradient"):
        CpuInstanceNormFwdOp()(x)
