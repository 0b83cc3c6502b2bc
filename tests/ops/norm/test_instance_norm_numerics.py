"""Instance normalization on a CUDA device, against float64."""

from __future__ import annotations

import pytest
import torch

from ops.norm import channel_references as reference
from ops.norm.channel_references import data, factors, relative, running
from tileops import InstanceNormFwdOp

pytestmark = pytest.mark.gpu

F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32
EPS = 1e-5

SHAPES = [
    pytest.param((8, 128, 32, 32), F16, id="planes"),
    pytest.param((4, 64, 30, 30), BF16, id="planes-of-900"),
    pytest.param((2, 3, 1, 513), F16, id="odd-planes"),
    pytest.param((32, 512, 7, 7), BF16, id="side-by-side"),
    pytest.param((2, 32, 64, 64, 64), F16, id="cluster"),
    pytest.param((1, 2, 2048, 2048), F16, id="read-twice"),
    pytest.param((3, 5, 2), F32, id="two-values"),
    pytest.param((4, 7, 100), F32, id="one-spatial-dim"),
]


@pytest.mark.parametrize(("shape", "dtype"), SHAPES)
@pytest.mark.parametrize("affine", [True, False], ids=["affine", "plain"])
def test_own_statistics(shape, dtype, affine):
    """Every plane is normalized by itself, and the same bits come out again."""
    x = data(shape, dtype)
    pair = factors(shape[1], dtype) if affine else (None, None)
    op = InstanceNormFwdOp()
    y = op(x, None, None, *pair)
    normal, *_ = reference.normalized(x, list(range(2, x.ndim)), EPS)
    reference.assert_close(y, reference.scaled(normal, *pair))
    assert torch.equal(op(x, None, None, *pair), y)


@pytest.mark.parametrize(("shape", "dtype"), SHAPES[:5])
@pytest.mark.parametrize("momentum", [0.1, 1.0])
def test_moving_running_statistics(shape, dtype, momentum):
    """They move towards the averages of the planes' means and unbiased variances."""
    x, (mean, var), pair = data(shape, dtype), running(shape[1]), factors(shape[1], dtype)
    old = mean.double(), var.double()
    y = InstanceNormFwdOp(True, momentum)(x, mean, var, *pair)
    dims, count = list(range(2, x.ndim)), x[0, 0].numel()
    normal, means, variances, _ = reference.normalized(x, dims, EPS)
    reference.assert_close(y, reference.scaled(normal, *pair))
    steps = means.mean(0).flatten(), variances.mean(0).flatten() * count / (count - 1)
    for one, before, step in zip((mean, var), old, steps, strict=True):
        assert relative(one, before + (step - before) * momentum) <= 2e-6


@pytest.mark.parametrize(("shape", "dtype"), SHAPES[:4])
def test_running_statistics(shape, dtype):
    """Given statistics normalize, and stay."""
    x, (mean, var), pair = data(shape, dtype), running(shape[1]), factors(shape[1], dtype)
    kept = mean.clone()
    y = InstanceNormFwdOp(False)(x, mean, var, *pair)
    normal = (x.double() - reference.per_channel(mean, x)) * reference.per_channel(
        (var.double() + EPS).rsqrt(), x
    )
    reference.assert_close(y, reference.scaled(normal, *pair))
    assert torch.equal(mean, kept)


def test_large_means():
    """A mean ten thousand deviations away costs no more than the rounding of the data."""
    x = data((4, 8, 40, 40), F32, mean=1e3, deviation=0.1)
    normal, *_ = reference.normalized(x, [2, 3], EPS)
    assert relative(InstanceNormFwdOp()(x), normal) <= 1e-3


def test_another_stream():
    """The launches go to torch's current stream."""
    op, x, statistics = InstanceNormFwdOp(), data((8, 32, 32, 32), F16), running(32)
    expected = op(x, *running(32))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(1_000_000)
        y = op(x.clone(), *statistics)
    stream.synchronize()
    assert torch.equal(y, expected)
