"""Batch normalization under torch.compile: its effects, its gradients, and what gives none."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from ops.graph.compiling import compiled
from ops.norm.cpu_channels import CpuBatchNormFwdOp, CpuInstanceNormFwdOp

BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])


@BACKENDS
def test_training_moves_running_statistics(backend):
    """The graph writes the caller's running statistics once a call, and returns the batch's."""
    op = CpuBatchNormFwdOp(True)
    function, counter = compiled(lambda x, mean, var: op(x * 2, mean, var), backend)
    mean, var = torch.zeros(4), torch.ones(4)
    expected = mean.clone(), var.clone()
    for _ in range(3):
        x = torch.randn(3, 4, 5)
        y, batch_mean, _ = function(x, mean, var)
        reference = F.batch_norm(x * 2, *expected, None, None, True)
        torch.testing.assert_close(y, reference, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(batch_mean, (x * 2).mean((0, 2)))
        torch.testing.assert_close(mean, expected[0])
        torch.testing.assert_close(var, expected[1])
    assert counter.frame_count == 1


@BACKENDS
def test_gradients_through_the_graph(backend):
    """Input, scale and shift get torch's gradients, and running statistics move as in torch."""
    op = CpuBatchNormFwdOp(True)

    def model(x, mean, var, weight, bias):
        return op(x.sin(), mean, var, weight, bias)[0].relu().sum(0)

    function, _ = compiled(model, backend)
    for _ in range(2):
        leaves = [torch.randn(3, 4, 5), torch.randn(4), torch.randn(4)]
        pairs = [[one.clone().requires_grad_() for one in leaves] for _ in range(2)]
        moved = [[torch.zeros(4), torch.ones(4)] for _ in range(2)]
        dy = torch.randn(4, 5)
        function(pairs[0][0], *moved[0], *pairs[0][1:]).backward(dy)
        x, *factors = pairs[1]
        F.batch_norm(x.sin(), *moved[1], *factors, True).relu().sum(0).backward(dy)
        for one, other in zip(pairs[0], pairs[1], strict=True):
            torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-5)
        for one, other in zip(*moved, strict=True):
            torch.testing.assert_close(one, other)


def test_inductor_differentiates():
    """Generated code computes the same gradients as the eager call."""
    op = CpuBatchNormFwdOp(True)

    def model(x, weight):
        return (op(x * 2, None, None, weight)[0] + 1).square().mean()

    function = torch.compile(model, fullgraph=True)
    found = []
    x, weight = torch.randn(3, 4, 5), torch.randn(4)
    for run in (function, model):
        leaves = x.clone().requires_grad_(), weight.clone().requires_grad_()
        run(*leaves).backward()
        found.append([one.grad for one in leaves])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_batch_sizes_share_a_graph():
    """A dynamic batch compiles once for every size."""
    op = CpuBatchNormFwdOp(True)
    function, counter = compiled(lambda x: op(x)[0], "aot_eager")
    for n in (2, 3, 5, 9):
        x = torch.randn(n, 4, 5, requires_grad=True)
        torch._dynamo.mark_dynamic(x, 0)
        y = function(x)
        torch.testing.assert_close(y, F.batch_norm(x, None, None, training=True))
        y.sum().backward()
    assert counter.frame_count == 1


def test_inference_gives_no_gradient_in_a_graph():
    """What would be cut off is refused when the call is compiled."""
    op = CpuBatchNormFwdOp()
    function, _ = compiled(op, "eager")
    with pytest.raises(Exception, match="input requires a gradient"):
        function(torch.randn(2, 3, 4, requires_grad=True), torch.zeros(3), torch.ones(3))


def test_torch_func_gives_no_gradient():
    """A transform of torch.func cannot differentiate the node, and says so."""
    op = CpuBatchNormFwdOp(True)
    with pytest.raises(Exception, match="input requires a gradient, and none passes"):
        torch.func.grad(lambda x: op(x)[0].sum())(torch.randn(2, 3, 4))


@BACKENDS
def test_instance_norm_moves_running_statistics(backend):
    """Its node declares what it writes too."""
    op = CpuInstanceNormFwdOp()
    function, _ = compiled(lambda x, mean, var: op(x + 1, mean, var), backend)
    moved = [[torch.zeros(3), torch.ones(3)] for _ in range(2)]
    x = torch.randn(2, 3, 8)
    y = function(x, *moved[0])
    reference = F.instance_norm(x + 1, *moved[1], None, None, True)
    torch.testing.assert_close(y, reference, rtol=1e-5, atol=1e-5)
    for one, other in zip(*moved, strict=True):
        torch.testing.assert_close(one, other)
