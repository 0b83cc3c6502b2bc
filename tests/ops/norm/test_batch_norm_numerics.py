"""Batch normalization and its gradients on a CUDA device, against float64."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from ops.norm import channel_references as reference
from ops.norm.channel_references import data, factors, relative, running
from tileops import BatchNormBwdOp, BatchNormFwdOp

pytestmark = pytest.mark.gpu

F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32
EPS = 1e-5

SHAPES = [
    pytest.param((32, 64), F16, id="fully-connected"),
    pytest.param((32, 64, 112, 112), F16, id="cluster-of-sixteen"),
    pytest.param((32, 256, 56, 56), BF16, id="whole-of-200-KB"),
    pytest.param((32, 512, 28, 28), F16, id="whole"),
    pytest.param((32, 1024, 14, 14), BF16, id="planes-of-14x14"),
    pytest.param((32, 2048, 7, 7), F16, id="wide-49"),
    pytest.param((16, 1026, 10, 10), F16, id="fours-and-two"),
    pytest.param((140, 1026, 14, 14), F16, id="fours-and-two-in-clusters"),
    pytest.param((256, 256, 56, 56), F16, id="large-cluster"),
    pytest.param((256, 512, 7, 7), F16, id="wide-in-a-cluster"),
    pytest.param((4, 128, 512, 512), F16, id="cluster-of-2-MB"),
    pytest.param((2, 3, 1024, 1024), F16, id="few-channels-split"),
    pytest.param((1, 1, 4096), F32, id="one-channel"),
    pytest.param((1, 8, 7), F16, id="seven-values"),
    pytest.param((2, 5000, 3), F16, id="many-channels"),
    pytest.param((3, 17, 5, 7, 9), F32, id="three-spatial-dims"),
    pytest.param((2, 16, 1), F32, id="two-values"),
    pytest.param((100000, 8), F16, id="many-samples"),
    pytest.param((300000, 8), BF16, id="more-samples-split"),
    pytest.param((8, 64, 32, 32), F32, id="small"),
    pytest.param((200000, 520), F16, id="general"),
]


def check_training(op, x, statistics, weight, bias, *, bound=None, kept=1e-5):
    """Call *op* in training and compare what it returns and writes; the input stays."""
    before = x.clone()
    moved = [one.double() for one in statistics] if statistics else []
    y, mean, rstd = op(x, *(statistics or (None, None)), weight, bias)
    dims, count = reference.batch_dims(x), x.numel() // x.shape[1]
    normal, true_mean, var, true_rstd = reference.normalized(x, dims, op.eps)
    reference.assert_close(y, reference.scaled(normal, weight, bias), bound=bound)
    scale = true_mean.abs().max().item() + true_rstd.reciprocal().max().item()
    torch.testing.assert_close(mean.double(), true_mean.flatten(), rtol=0, atol=1e-6 * scale)
    assert relative(rstd, true_rstd.flatten()) <= kept
    if statistics:
        steps = true_mean.flatten(), var.flatten() * count / (count - 1)
        for one, old, step in zip(statistics, moved, steps, strict=True):
            expected = old + (step - old) * op.momentum
            assert relative(one, expected) <= max(1e-6, kept / 10)
    assert torch.equal(x, before)
    return y, mean, rstd


@pytest.mark.parametrize(("shape", "dtype"), SHAPES)
def test_training(shape, dtype):
    """Results and statistics are right, and the same bits when run again."""
    x, pair = data(shape, dtype), factors(shape[1], dtype)
    op = BatchNormFwdOp(True)
    first = check_training(op, x, running(shape[1]), *pair)
    again = op(x, *running(shape[1]), *pair)
    assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))


@pytest.mark.parametrize("dtype", [F16, BF16, F32], ids=["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("shape", [(5, 24, 9, 9), (6, 16, 16, 16)], ids=["columns", "planes"])
@pytest.mark.parametrize("given", [0, 1, 2, 4], ids=["none", "bias", "weight", "statistics"])
def test_optional_tensors(shape, dtype, given):
    """Weight, bias and running statistics are absent by themselves."""
    weight, bias = factors(shape[1], dtype)
    statistics = running(shape[1]) if given & 4 else None
    x = data(shape, dtype)
    op = BatchNormFwdOp(True)
    check_training(op, x, statistics, weight if given & 2 else None, bias if given & 1 else None)


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((8, 16, 40, 40), id="whole"),
        pytest.param((8, 16, 7, 7), id="wide"),
        pytest.param((8, 16, 128, 128), id="cluster"),
        pytest.param((2, 3, 1024, 1024), id="split"),
    ],
)
def test_large_means(shape):
    """A mean ten thousand deviations away costs no more than the rounding of the data."""
    x = data(shape, F32, mean=1e3, deviation=0.1)
    op = BatchNormFwdOp(True)
    y, _, rstd = op(x)
    normal, _, var, _ = reference.normalized(x, reference.batch_dims(x), EPS)
    assert relative(y, normal) <= 1e-3
    assert relative(rstd.double().pow(-2) - EPS, var.flatten()) <= 1e-3


def test_special_channels():
    """A constant channel gives its shift; NaN and infinity stay in their channel."""
    x, (weight, bias) = data((4, 6, 16, 16), F32), factors(6, F32)
    x[:, 1] = 3.25
    x[0, 2, 5, 5] = float("inf")
    x[1, 3, 7, 7] = float("nan")
    y, mean, rstd = BatchNormFwdOp(True)(x, None, None, weight, bias)
    assert torch.equal(y[:, 1], bias[1].expand_as(y[:, 1]))
    assert mean[1] == 3.25
    torch.testing.assert_close(rstd[1].item(), EPS**-0.5, rtol=1e-6, atol=0)
    assert y[:, 2].isnan().all()
    assert y[:, 3].isnan().all()
    expected = F.batch_norm(x.double(), None, None, weight.double(), bias.double(), True)
    for channel in (0, 4, 5):
        reference.assert_close(y[:, channel], expected[:, channel])


@pytest.mark.parametrize("momentum", [0.0, 0.1, 1.0])
@pytest.mark.parametrize(
    "shape",
    [pytest.param((32, 64, 28, 28), id="whole"), pytest.param((2, 8, 1024, 1024), id="split")],
)
def test_three_steps(shape, momentum):
    """Running statistics follow torch's over several batches."""
    op, mine = BatchNormFwdOp(True, momentum), running(shape[1])
    theirs = [one.double() for one in mine]
    for seed in range(3):
        x = data(shape, F32, seed=seed)
        op(x, *mine)
        F.batch_norm(x.double(), *theirs, None, None, True, momentum)
    for one, other in zip(mine, theirs, strict=True):
        assert relative(one, other) <= 2e-6


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            lambda: data((8, 16, 20, 20), F16).to(memory_format=torch.channels_last),
            id="channels-last",
        ),
        pytest.param(lambda: data((8, 16, 20, 40), F16)[..., ::2], id="strided"),
        pytest.param(
            lambda: data((1, 8 * 16 * 400 + 1), F16)[0, 1:].view(8, 16, 20, 20), id="misaligned"
        ),
    ],
)
def test_layouts(make):
    """Data that is not dense or not aligned is copied first."""
    check_training(BatchNormFwdOp(True), make(), running(16), *factors(16, F16))


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        pytest.param((32, 256, 56, 56), F16, id="resnet"),
        pytest.param((32, 2048, 7, 7), BF16, id="odd-planes"),
        pytest.param((1, 64, 112, 112), F16, id="one-image"),
        pytest.param((3, 17, 5, 7, 9), F32, id="three-spatial-dims"),
        pytest.param((1000, 8), F32, id="no-spatial-dims"),
        pytest.param((5, 3, 1), F16, id="tiny"),
    ],
)
def test_inference(shape, dtype):
    """Tiny, large and zero variances normalize too."""
    x, (weight, bias), (mean, var) = data(shape, dtype), factors(shape[1], dtype), running(shape[1])
    var[0], var[1], var[2] = 0.0, 1e-12, 1e10
    y = BatchNormFwdOp()(x, mean, var, weight, bias)
    normal = (x.double() - reference.per_channel(mean, x)) * reference.per_channel(
        (var.double() + EPS).rsqrt(), x
    )
    # float16 overflows where a variance of zero magnifies.
    expected = reference.scaled(normal, weight, bias).to(dtype).double()
    finite = expected.isfinite()
    assert torch.equal(y.isfinite(), finite)
    reference.assert_close(y[finite], expected[finite])


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        pytest.param((32, 64), F16, id="fully-connected"),
        pytest.param((32, 64, 112, 112), F16, id="cluster"),
        pytest.param((256, 130, 56, 56), F16, id="blocks-that-stay"),
        pytest.param((140, 1026, 14, 14), BF16, id="fours-and-two-in-clusters"),
        pytest.param((32, 512, 28, 28), BF16, id="whole-of-200-KB"),
        pytest.param((8, 512, 28, 28), F32, id="whole"),
        pytest.param((32, 2048, 7, 7), F16, id="wide"),
        pytest.param((256, 512, 7, 7), BF16, id="wide-in-a-cluster"),
        pytest.param((4, 8, 1024, 1024), F16, id="split"),
        pytest.param((4, 8, 900, 889), F32, id="split-3.2-million"),
        pytest.param((100000, 8), F16, id="many-samples"),
        pytest.param((3, 17, 5, 7, 9), F32, id="three-spatial-dims"),
        pytest.param((100000, 520), F16, id="general"),
    ],
)
def test_gradients(shape, dtype):
    """All three gradients are right, and the same bits when run again."""
    x, (weight, bias) = data(shape, dtype), factors(shape[1], dtype)
    # The shift's gradient is the sum of a channel, and float16 ends at 65504.
    length = x.numel() // shape[1]
    dy = data(shape, dtype, seed=9, mean=0.0, spread=min(1.0, 2**14 / length))
    _, mean, rstd = BatchNormFwdOp(True)(x, None, None, weight, bias)
    op = BatchNormBwdOp()
    found = op(dy, x, mean, rstd, weight)
    expected = reference.gradients(dy, x, weight, EPS)
    sums = 1e-4 if length > 1 << 20 else 1e-5
    bounds = [reference.BACKWARD[dtype], *[max(sums, reference.BACKWARD[dtype])] * 2]
    for one, other, bound in zip(found, expected, bounds, strict=True):
        reference.assert_close(one, other, bound=bound)
    again = op(dy, x, mean, rstd, weight)
    assert all(torch.equal(one, other) for one, other in zip(found, again, strict=True))


def test_gradients_that_vanish():
    """A constant gradient in every channel, or a scale of zero, leaves none for the input."""
    x, dy = data((8, 16, 32, 32), F32), torch.ones(8, 16, 32, 32, device="cuda")
    _, mean, rstd = BatchNormFwdOp(True)(x)
    dx, _, db = BatchNormBwdOp()(dy * 3, x, mean, rstd)
    assert dx.abs().max() <= 1e-4
    torch.testing.assert_close(db, torch.full_like(db, 3.0 * 8 * 1024))
    dx, dw, _ = BatchNormBwdOp()(data(x.shape, F32, 5), x, mean, rstd, torch.zeros_like(mean))
    assert not dx.any()
    assert dw.any()


@pytest.mark.parametrize("dtype", [F16, F32], ids=["fp16", "fp32"])
def test_autograd(dtype):
    """A loss through the op has the gradients of a float64 network."""
    shape = (8, 32, 14, 14)
    leaves = [data(shape, dtype), *factors(shape[1], dtype)]
    for one in leaves:
        one.requires_grad_()
    y, _, _ = BatchNormFwdOp(True)(leaves[0], *running(shape[1]), *leaves[1:])
    dy = data(shape, dtype, seed=4)
    y.backward(dy)
    wide = [one.detach().double().requires_grad_() for one in leaves]
    F.batch_norm(wide[0], None, None, *wide[1:], True).backward(dy.double())
    for one, other in zip(leaves, wide, strict=True):
        reference.assert_close(one.grad, other.grad, bound=reference.BACKWARD[dtype])


@pytest.mark.parametrize(
    "shape",
    [pytest.param((8, 64, 56, 56), id="cluster"), pytest.param((2, 3, 1024, 1024), id="split")],
)
def test_two_streams_at_once(shape):
    """Calls that overlap on two streams do not share a workspace."""
    op, streams = BatchNormFwdOp(True), [torch.cuda.Stream() for _ in range(2)]
    inputs = [data(shape, F16, seed=seed) for seed in range(2)]
    expected = [op(x) for x in inputs]
    torch.cuda.synchronize()
    for _ in range(20):
        found = []
        for stream, x in zip(streams, inputs, strict=True):
            with torch.cuda.stream(stream):
                found.append(op(x))
        torch.cuda.synchronize()
        for one, other in zip(found, expected, strict=True):
            assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    "shape",
    [pytest.param((8, 64, 56, 56), id="cluster"), pytest.param((2, 3, 1024, 1024), id="split")],
)
def test_graph_capture_replays_with_new_contents(shape):
    """A captured call reads what its input holds at every replay, and moves the statistics."""
    op, x, statistics = BatchNormFwdOp(True), data(shape, F16), running(shape[1])
    op(x, *statistics)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y, _, _ = op(x, *statistics)
    for seed in (7, 8):
        x.copy_(data(shape, F16, seed=seed))
        before = statistics[0].clone()
        graph.replay()
        torch.cuda.synchronize()
        normal, *_ = reference.normalized(x, reference.batch_dims(x), EPS)
        reference.assert_close(y, normal)
        assert not torch.equal(statistics[0], before)


def test_more_than_2_to_the_31_elements():
    """Offsets beyond 32 bits are right: the first and the last channel of a huge input."""
    shape = (40, 64, 1024, 1024)
    if torch.cuda.mem_get_info()[0] < 24 << 30:
        pytest.skip("needs 24 GB of device memory")
    x = torch.empty(shape, device="cuda", dtype=F16).normal_()
    mean, var = running(64)
    y = BatchNormFwdOp()(x, mean, var)
    for channel in (0, 63):
        normal = (x[:, channel].double() - mean[channel]) * (var[channel].double() + EPS).rsqrt()
        reference.assert_close(y[:, channel], normal)
    y, _, _ = BatchNormFwdOp(True)(x)
    for channel in (0, 63):
        normal, *_ = reference.normalized(x[:, channel], [0, 1, 2], EPS)
        reference.assert_close(y[:, channel], normal)


@pytest.mark.parametrize("dtype", [F16], ids=["fp16"])
def test_growing_batches_compile_few_programs(dtype):
    """Every batch size is right; sizes near each other run one program."""
    op, pair = BatchNormFwdOp(True), factors(32, dtype)
    for n in range(2, 40):
        check_training(op, data((n, 32, 12, 12), dtype, seed=n), None, *pair)
    assert len(list(op.iter_kernels())) <= 16


def test_compiled_by_torch():
    """Under torch.compile a training step gives the gradients of the eager one."""
    torch.compiler.reset()
    op, shape = BatchNormFwdOp(True), (8, 32, 14, 14)
    pair = factors(shape[1], F32)

    def loss(x, mean, var, weight, bias):
        return (op(x * 2, mean, var, weight, bias)[0] + 1).square().mean()

    found = []
    for function in (loss, torch.compile(loss, fullgraph=True)):
        leaves = [data(shape, F32).requires_grad_(), *(one.clone() for one in pair)]
        leaves[1].requires_grad_()
        statistics = running(shape[1])
        function(leaves[0], *statistics, *leaves[1:]).backward()
        found.append([leaves[0].grad, leaves[1].grad, *statistics])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
