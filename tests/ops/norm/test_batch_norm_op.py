"""BatchNormFwdOp's and BatchNormBwdOp's own part of a call, with CPU kernels for the rest.

The kernels check what the interfaces promise them; the expected values are torch's, in float64.
"""

import pytest
import torch
import torch.nn.functional as F

from ops.norm.cpu_channels import CpuBatchNormBwdOp, CpuBatchNormFwdOp, CpuTrain
from tileops.errors import ForwardOnlyError, SecondDerivativeError, SignatureError
from tileops.tensor_spec import TensorSpec

SHAPES = [
    pytest.param((6, 5), id="no-spatial-dim"),
    pytest.param((3, 5, 8), id="one"),
    pytest.param((3, 5, 4, 6), id="two"),
    pytest.param((2, 3, 4, 3, 5), id="three"),
    pytest.param((2, 1, 7), id="one-channel"),
    pytest.param((1, 4, 9), id="one-sample"),
    pytest.param((2, 4, 1), id="two-values"),
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


def wide(*tensors):
    return [None if one is None else one.double() for one in tensors]


def train(op, x, mean=None, var=None, weight=None, bias=None, tolerance=1e-5):
    """Call *op* in training and compare everything with torch; the inputs not written stay."""
    before = [None if one is None else one.clone() for one in (x, mean, var, weight, bias)]
    y, batch_mean, rstd = op(x, mean, var, weight, bias)
    old = wide(*before)
    expected = F.batch_norm(*old, True, op.momentum, op.eps)
    torch.testing.assert_close(y.double(), expected, rtol=tolerance, atol=tolerance)
    dims = [0, *range(2, x.ndim)]
    torch.testing.assert_close(batch_mean.double(), old[0].mean(dims), rtol=1e-6, atol=1e-6)
    biased = old[0].var(dims, correction=0)
    torch.testing.assert_close(rstd.double(), (biased + op.eps).rsqrt(), rtol=1e-6, atol=1e-6)
    if mean is not None:
        # torch has moved the copies.
        torch.testing.assert_close(mean.double(), old[1], rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(var.double(), old[2], rtol=1e-6, atol=1e-6)
    assert torch.equal(x, before[0])
    assert y.is_contiguous()
    assert (y.dtype, batch_mean.dtype, rstd.dtype) == (x.dtype, torch.float32, torch.float32)
    return y


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_training(shape, dtype, tolerance):
    """Results, returned statistics and moved statistics are torch's."""
    x = (torch.randn(shape) * 3 + 2).to(dtype)
    weight, bias = (torch.randn(shape[1]).to(dtype) for _ in range(2))
    train(CpuBatchNormFwdOp(True), x, *running(shape[1]), weight, bias, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@pytest.mark.parametrize("shape", [*SHAPES, pytest.param((1, 4, 1), id="one-value")])
def test_inference(shape, dtype, tolerance):
    """The running statistics normalize, and stay as they are; a channel may have one value."""
    x = (torch.randn(shape) * 3 + 2).to(dtype)
    mean, var = running(shape[1])
    weight, bias = (torch.randn(shape[1]).to(dtype) for _ in range(2))
    kept = mean.clone(), var.clone()
    op = CpuBatchNormFwdOp()
    y = op(x, mean, var, weight, bias)
    expected = F.batch_norm(*wide(x, mean, var, weight, bias), False, 0.1, op.eps)
    torch.testing.assert_close(y.double(), expected, rtol=tolerance, atol=tolerance)
    assert torch.equal(mean, kept[0])
    assert torch.equal(var, kept[1])


@pytest.mark.parametrize("given", range(8), ids=lambda bits: f"{bits:03b}")
def test_weight_bias_and_running_statistics_are_optional(given):
    """Each is absent by itself, and presence may change between calls of one instance."""
    op, x = CpuBatchNormFwdOp(True), torch.randn(3, 5, 4)
    for bits in (given, 7, given, given):
        statistics = running(5) if bits & 4 else (None, None)
        weight = torch.randn(5) if bits & 2 else None
        bias = torch.randn(5) if bits & 1 else None
        train(op, x, *statistics, weight, bias)


@pytest.mark.parametrize("momentum", [0.0, 0.1, 1.0])
def test_three_steps(momentum):
    """Running statistics follow torch's over several batches."""
    op, (mean, var) = CpuBatchNormFwdOp(True, momentum), running(4)
    expected = wide(mean, var)
    for _ in range(3):
        x = torch.randn(3, 4, 5)
        op(x, mean, var)
        F.batch_norm(x.double(), *expected, None, None, True, momentum)
    torch.testing.assert_close(mean.double(), expected[0], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(var.double(), expected[1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("eps", [1e-12, 1e-5, 1.0])
def test_eps(eps):
    """The op's epsilon reaches the kernel."""
    train(CpuBatchNormFwdOp(True, eps=eps), torch.randn(3, 4, 5) * 1e-2)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            lambda: torch.randn(3, 4, 5, 6).to(memory_format=torch.channels_last),
            id="channels-last",
        ),
        pytest.param(lambda: torch.randn(3, 4, 5, 12)[..., ::2], id="strided"),
        pytest.param(lambda: torch.randn(361)[1:].view(3, 4, 5, 6), id="misaligned"),
        pytest.param(lambda: torch.randn(4, 3, 5, 6).transpose(0, 1), id="transposed"),
        pytest.param(lambda: torch.randn(1, 4, 5, 6).expand(3, 4, 5, 6), id="expanded"),
    ],
)
def test_layouts(make):
    """Whatever the strides and the storage offset, the kernel gets dense aligned data."""
    op = CpuBatchNormFwdOp(True)
    for _ in range(3):
        train(op, make(), *running(4), torch.randn(8)[::2], torch.randn(1).expand(4))


def test_running_statistics_at_an_odd_address():
    """They are written where they are, at any multiple of their element."""
    both = torch.rand(9) + 0.5
    train(CpuBatchNormFwdOp(True), torch.randn(3, 4, 5), both[1:5], both[5:])


def test_a_workspace_of_its_own_for_every_call():
    """A call that needs one gets memory that no earlier call still holds."""
    op, x = CpuBatchNormFwdOp(True), torch.randn(4, 2, 4096)
    CpuTrain.workspaces.clear()
    results = [op(x) for _ in range(3)]
    assert len({one.data_ptr() for one in CpuTrain.workspaces}) == 3
    assert len(results) == 3
    CpuTrain.workspaces.clear()


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 3, 0), (0, 3)])
def test_no_elements(shape):
    """Nothing runs: statistics of no value are NaN, running ones stay."""
    op, (mean, var) = CpuBatchNormFwdOp(True), running(3)
    kept = mean.clone(), var.clone()
    for _ in range(2):
        y, batch_mean, rstd = op(torch.empty(shape), mean, var)
        assert y.shape == shape
        assert batch_mean.isnan().all()
        assert rstd.isnan().all()
    assert torch.equal(mean, kept[0])
    assert torch.equal(var, kept[1])
    assert list(op.iter_kernels()) == []
    assert CpuBatchNormFwdOp()(torch.empty(shape), mean, var).shape == shape


def test_no_channels():
    """Without channels every output is empty."""
    y, mean, rstd = CpuBatchNormFwdOp(True)(torch.empty(2, 0, 4))
    assert (y.shape, mean.shape, rstd.shape) == ((2, 0, 4), (0,), (0,))


@pytest.mark.parametrize(
    ("training", "tensors", "message"),
    [
        pytest.param(True, [(1, 3, 1)], "more than 1 value per channel when training", id="L-1"),
        pytest.param(True, [(1, 3)], "more than 1 value per channel when training", id="L-1-flat"),
        pytest.param(False, [(2, 3, 4)], "running_mean", id="infer-without-statistics"),
        pytest.param(True, [(2, 3, 4), (3,)], "running_var", id="half-the-statistics"),
        pytest.param(True, [(2, 3, 4), (4,), (4,)], "running_mean", id="too-many-statistics"),
        pytest.param(True, [(2, 3, 4), None, None, (2,)], "weight", id="weight-too-short"),
        pytest.param(True, [(2, 3, 4), None, None, None, (1, 3)], "bias", id="bias-of-two-dims"),
        pytest.param(True, [(2, 3, 1, 1, 1, 1)], "at most three spatial dims", id="four-dims"),
        pytest.param(True, [(3,)], "input", id="one-dim"),
    ],
)
def test_refused_shapes(training, tensors, message):
    """Shapes that do not fit are named, and the next good call is served."""
    op = CpuBatchNormFwdOp(training)
    given = [None if shape is None else torch.ones(shape) for shape in tensors]
    with pytest.raises((SignatureError), match=message):
        op(*given)
    op(torch.randn(2, 3, 4), *running(3))


@pytest.mark.parametrize(
    ("place", "dtype"),
    [
        pytest.param(0, torch.float64, id="double-input"),
        pytest.param(1, torch.float16, id="half-statistics"),
        pytest.param(3, torch.float16, id="half-weight"),
    ],
)
def test_refused_dtypes(place, dtype):
    """Data is float16, bfloat16 or float32, factors like it, statistics float32."""
    tensors = [torch.randn(2, 3, 4), *running(3), torch.randn(3), torch.randn(3)]
    tensors[place] = tensors[place].to(dtype)
    with pytest.raises(SignatureError, match=str(dtype).removeprefix("torch.")):
        CpuBatchNormFwdOp(True)(*tensors)


def test_running_statistics_must_be_contiguous():
    """They are written in place, so no copy can stand for them."""
    mean, var = torch.zeros(6)[::2], torch.ones(3)
    with pytest.raises(SignatureError, match="running_mean must be contiguous"):
        CpuBatchNormFwdOp(True)(torch.randn(2, 3, 4), mean, var)


def test_one_instance_many_batches():
    """The number of samples is no part of what an op checks anew."""
    op = CpuBatchNormFwdOp(True)
    for n in (2, 3, 2, 7, 3):
        train(op, torch.randn(n, 3, 4), *running(3), torch.randn(3), torch.randn(3))


@pytest.mark.parametrize("has_weight", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_gradients(shape, has_weight):
    """The gradients of input, scale and shift are torch's."""
    x, dy = torch.randn(shape), torch.randn(shape)
    weight = torch.randn(shape[1]) if has_weight else None
    _, mean, rstd = CpuBatchNormFwdOp(True)(x, None, None, weight)
    found = CpuBatchNormBwdOp()(dy, x, mean, rstd, weight)
    leaves = wide(x, torch.ones(shape[1]) if weight is None else weight, torch.zeros(shape[1]))
    for one in leaves:
        one.requires_grad_()
    F.batch_norm(leaves[0], None, None, *leaves[1:], True).backward(dy.double())
    for one, leaf in zip(found, leaves, strict=True):
        torch.testing.assert_close(one.double(), leaf.grad, rtol=1e-4, atol=1e-4)


def test_gradients_without_elements():
    """The gradient of nothing is empty, those of the factors are zero."""
    x, statistics = torch.empty(0, 3, 4), torch.ones(3)
    dx, dw, db = CpuBatchNormBwdOp()(x, x, statistics, statistics)
    assert dx.shape == (0, 3, 4)
    assert not dw.any()
    assert not db.any()


class TestAutograd:
    """Calls in training whose inputs require gradients."""

    @pytest.mark.parametrize("needs", range(1, 8), ids=lambda bits: f"{bits:03b}")
    def test_every_input_that_requires_one_gets_its_gradient(self, needs):
        """Gradients are torch's, in every combination, call after call."""
        op = CpuBatchNormFwdOp(True)
        for _ in range(3):
            tensors = [torch.randn(3, 4, 5), torch.randn(4), torch.randn(4)]
            for place, one in enumerate(tensors):
                one.requires_grad_(bool(needs & (1 << place)))
            mean, var = running(4)
            y, batch_mean, rstd = op(tensors[0], mean, var, *tensors[1:])
            assert y.requires_grad
            assert not batch_mean.requires_grad
            assert not rstd.requires_grad
            dy = torch.randn_like(y)
            y.backward(dy)
            leaves = [one.detach().double().requires_grad_() for one in tensors]
            F.batch_norm(leaves[0], None, None, *leaves[1:], True).backward(dy.double())
            for one, leaf in zip(tensors, leaves, strict=True):
                if one.requires_grad:
                    torch.testing.assert_close(one.grad.double(), leaf.grad, rtol=1e-4, atol=1e-4)
                else:
                    assert one.grad is None

    def test_absent_factors(self):
        """An absent weight or bias takes no gradient."""
        x = torch.randn(3, 4, 5, requires_grad=True)
        y, _, _ = CpuBatchNormFwdOp(True)(x)
        y.square().sum().backward()
        assert x.grad is not None

    def test_strided_input(self):
        """The gradient of an input that is copied reaches the input."""
        x = torch.randn(3, 4, 5, 6).to(memory_format=torch.channels_last).requires_grad_()
        y, _, _ = CpuBatchNormFwdOp(True)(x)
        dy = torch.randn_like(y)
        y.backward(dy)
        leaf = x.detach().double().contiguous().requires_grad_()
        F.batch_norm(leaf, None, None, None, None, True).backward(dy.double())
        torch.testing.assert_close(x.grad.double(), leaf.grad, rtol=1e-4, atol=1e-4)

    def test_another_batch_size(self):
        """A call that differs from an earlier one in its size alone is recorded too."""
        op, weight = CpuBatchNormFwdOp(True), torch.randn(4, requires_grad=True)
        for n in (2, 3, 5, 3):
            y, _, _ = op(torch.randn(n, 4, 6), None, None, weight)
            (gradient,) = torch.autograd.grad(y.square().sum(), weight)
            assert gradient.abs().sum() > 0

    def test_grad_mode(self):
        """Under no_grad nothing is recorded, before and after it something is."""
        op, x = CpuBatchNormFwdOp(True), torch.randn(3, 4, 5, requires_grad=True)
        for recorded in (True, False, True, True, False, False):
            with torch.set_grad_enabled(recorded):
                assert op(x)[0].requires_grad is recorded

    def test_no_elements(self):
        """The gradient of an empty input is empty."""
        x = torch.empty(0, 3, 4, requires_grad=True)
        y, _, _ = CpuBatchNormFwdOp(True)(x)
        y.sum().backward()
        assert x.grad.shape == (0, 3, 4)

    def test_a_write_to_what_is_saved(self):
        """Changing the input before the backward pass is an error of torch's."""
        x = torch.randn(3, 4, 5)
        weight = torch.randn(4, requires_grad=True)
        y, _, _ = CpuBatchNormFwdOp(True)(x, None, None, weight)
        x.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()

    def test_inference_is_forward_only(self):
        """A result that would be detached is refused, in the op's name."""
        x = torch.randn(3, 4, 5, requires_grad=True)
        with pytest.raises(ForwardOnlyError, match="input requires a gradient"):
            CpuBatchNormFwdOp()(x, *running(4))

    def test_running_statistics_take_no_gradient(self):
        """One that requires a gradient is refused before it is moved."""
        mean, var = running(4)
        mean.requires_grad_()
        with pytest.raises(ForwardOnlyError, match="running_mean requires a gradient"):
            CpuBatchNormFwdOp(True)(torch.randn(3, 4, 5), mean, var)

    def test_backward_is_not_differentiated_again(self):
        """A second derivative is refused, never a wrong number."""
        x = torch.randn(3, 4, 5, requires_grad=True)
        y, _, _ = CpuBatchNormFwdOp(True)(x)
        with pytest.raises(SecondDerivativeError, match="BatchNormFwdOp: its gradient is computed"):
            torch.autograd.grad(y.square().sum(), x, create_graph=True)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        pytest.param((2, 3, 1 << 30), "a channel has at most", id="long-channel"),
        pytest.param((1, 1 << 20, 1 << 13), "a sample has fewer than", id="large-sample"),
    ],
)
def test_sizes_beyond_what_kernels_count(shape, message):
    """A channel or a sample that is too large is refused before anything is allocated."""
    x = TensorSpec(shape, torch.float16, torch.device("cuda:0"))
    with pytest.raises(SignatureError, match=message):
        CpuBatchNormFwdOp(True).explain_call(x)


def test_requests_state_every_fact():
    """A description gives the call that a tensor would."""
    op = CpuBatchNormFwdOp(True, 0.3, 1e-3)
    x = TensorSpec((3, 5, 4, 6), torch.bfloat16, torch.device("cuda:0"))
    factor = TensorSpec((5,), torch.bfloat16, torch.device("cuda:0"))
    ((name, call),) = op.requests(x, None, None, factor, None)
    assert name == "batch_norm_fwd_train"
    assert (call.n, call.c, call.spatial, call.dtype) == (3, 5, 24, torch.bfloat16)
    assert (call.momentum, call.eps) == (0.3, 1e-3)
    assert (call.has_weight, call.has_bias, call.has_running_stats) == (True, False, False)
