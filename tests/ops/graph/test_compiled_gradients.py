"""Gradients through compiled and traced calls of an op that declares its backward."""

from __future__ import annotations

import pytest
import torch
from torch._dynamo.exc import TorchDynamoException

from ops.center_family import CenterFwdOp, PlainCenterFwdOp
from ops.graph.compiling import compiled, targets
from tileops.errors import GradientThroughNodeError
from tileops.ops.gradient import Gradient

BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])


def formula(x, total, scale):
    """The same in torch, with its own gradients; *total* is written."""
    mean = x.mean(0)
    with torch.no_grad():
        total += mean
    y = x - mean if scale is None else (x - mean) * scale
    return y, mean.detach()


def step(function):
    """Return a piece of a model around *function*: what comes before it and after it."""

    def run(x, total, scale):
        y, mean = function(x.sin(), total, scale)
        return (y.cos() + mean).square().sum()

    return run


def inputs(rows=4, scaled=True):
    torch.manual_seed(rows)
    x = torch.randn(rows, 3, dtype=torch.float64, requires_grad=True)
    scale = torch.randn(3, dtype=torch.float64, requires_grad=True) if scaled else None
    return x, torch.zeros(3, dtype=torch.float64), scale


def results(function, x, total, scale):
    """The loss, what is written, and the gradients."""
    loss = function(x, total, scale)
    wanted = [one for one in (x, scale) if one is not None]
    return loss.detach(), total, torch.autograd.grad(loss, wanted)


@BACKENDS
@pytest.mark.parametrize("scaled", [True, False])
def test_a_training_step(backend, scaled):
    """Loss, running total and gradients are those of torch, and the graph has no break."""
    op = CenterFwdOp()
    function, counter = compiled(step(op), backend)
    for _ in range(3):
        ours = results(function, *inputs(scaled=scaled))
        torch.testing.assert_close(ours, results(step(formula), *inputs(scaled=scaled)))
    assert counter.frame_count == 1
    assert any("CenterFwdOp_writes_total" in one for one in targets(counter))


@BACKENDS
def test_a_backward_that_is_no_op(backend):
    """It may differentiate something itself, and return what it was given."""

    class TorchCenterFwdOp(CenterFwdOp):
        def gradient(self):
            def run(grad_y, x, scale):
                with torch.enable_grad():
                    again = x.detach().requires_grad_()
                    y, _ = formula(again, torch.zeros_like(scale), scale)
                return torch.autograd.grad(y, again, grad_y)[0], grad_y[0]

            return Gradient(inputs=("x", "scale"), outputs=("y",), saved=("x", "scale"), run=run)

        @classmethod
        def signature(cls):
            return CenterFwdOp.signature()

    op = TorchCenterFwdOp()
    function, _ = compiled(lambda x, scale: op(x, None, scale)[0], backend)
    x, total, scale = inputs()
    ours = torch.autograd.grad(function(x, scale).square().sum(), (x, scale))
    y, _ = formula(x, total, scale)
    theirs, (row, *_) = torch.autograd.grad(y.square().sum(), (x, y))
    torch.testing.assert_close(ours, (theirs, row))


def test_inductor():
    """Generated code keeps the write and the gradients."""
    op = CenterFwdOp()
    ours = results(torch.compile(step(op), fullgraph=True), *inputs())
    torch.testing.assert_close(ours, results(step(formula), *inputs()))


@BACKENDS
def test_rows_that_vary(backend):
    """One graph serves every batch size, forward and back."""
    op = CenterFwdOp()
    function, counter = compiled(step(op), backend, dynamic=True)
    for rows in (4, 7, 2, 9):
        ours = results(function, *inputs(rows))
        torch.testing.assert_close(ours, results(step(formula), *inputs(rows)))
    assert counter.frame_count == 1


@BACKENDS
def test_instances_share_a_graph_and_each_runs_its_own_backward(backend):
    """The number of the instance varies in the backward too."""
    ops = [CenterFwdOp() for _ in range(4)]
    counts = [0] * len(ops)

    def counting(place, op):
        kept = op.backward

        def run(*tensors):
            counts[place] += 1
            return kept(*tensors)

        return run

    for place, op in enumerate(ops):
        op.backward = counting(place, op)
    function, counter = compiled(lambda op, *tensors: step(op)(*tensors), backend)
    for op in ops:
        ours = results(lambda *tensors, op=op: function(op, *tensors), *inputs())
        torch.testing.assert_close(ours, results(step(formula), *inputs()))
    assert counter.frame_count <= 2
    # Tracing runs a backward on fake tensors too, of whichever instance lives.
    assert all(counts)


def test_only_what_requires_a_gradient_gets_one():
    """A frozen scale, and a frozen input."""
    op = CenterFwdOp()
    function, _ = compiled(step(op), "aot_eager")
    x, total, scale = inputs()
    function(x.detach(), total, scale).backward()
    assert (x.grad, scale.grad is None) == (None, False)
    function(x, total, scale.detach()).backward()
    assert x.grad is not None


def test_without_a_backward():
    """An op that declares none is refused as before."""
    op = PlainCenterFwdOp()
    with pytest.raises(TorchDynamoException, match="x requires a gradient, and none passes"):
        compiled(step(op))[0](*inputs())


@BACKENDS
@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(
            lambda op, x, total, scale: op(x, scale)[0],
            "total requires a gradient, and the op's backward gives those of x, scale alone",
            id="written",
        ),
        pytest.param(
            lambda op, x, total, scale: op(x, out=torch.empty_like(x))[0],
            "x requires a gradient, and an output that is written into out passes none on",
            id="buffer",
        ),
    ],
)
def test_what_would_be_cut_off(backend, call, message):
    """It is refused in the eager words."""
    op = CenterFwdOp()
    with pytest.raises(TorchDynamoException, match=message):
        compiled(lambda *tensors: call(op, *tensors), backend)[0](*inputs())


def test_an_empty_batch():
    """Its gradients are zeros, compiled as well."""
    op = CenterFwdOp()
    x = torch.ones(4, 0, dtype=torch.float64, requires_grad=True)
    function, _ = compiled(lambda x: op(x)[0], "aot_eager")
    function(x).sum().backward()
    assert x.grad.shape == (4, 0)


def test_a_second_derivative_is_refused():
    """Through a compiled call as through an eager one."""
    op = CenterFwdOp()
    function, _ = compiled(lambda x: op(x)[0])
    x = inputs()[0]
    with pytest.raises(GradientThroughNodeError, match="CenterFwdOp's backward: x requires"):
        torch.autograd.grad(function(x).sum(), x, create_graph=True)


def test_torch_func_is_refused():
    """Its transforms take no op, backward or not."""
    op = CenterFwdOp()
    with pytest.raises(GradientThroughNodeError, match="x requires a gradient"):
        torch.func.grad(lambda x: op(x)[0].sum())(inputs()[0].detach())


def test_under_fake_tensors():
    """A fake call records its gradient, and the backward makes fakes."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    op = CenterFwdOp()
    with FakeTensorMode():
        x = torch.empty(4, 3, requires_grad=True)
        y, mean = op(x)
        assert (y.requires_grad, mean.requires_grad) == (True, False)
        (grad,) = torch.autograd.grad(y.sum(), x)
    assert grad.shape == (4, 3)


def test_export_of_a_training_step():
    """torch.export traces what the module does in training, without its backward."""

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.center = CenterFwdOp()
            self.scale = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            return self.center(x, None, self.scale)[0]

    module = Module()
    program = torch.export.export(module, (torch.randn(4, 3),))
    x = torch.randn(4, 3)
    torch.testing.assert_close(program.module()(x), module(x))
