"""What a compiled or transformed call refuses, and that it says why in the eager words."""

from __future__ import annotations

import gc

import pytest
import torch
from torch._dynamo.exc import TorchDynamoException
from torch.autograd import forward_ad

from ops.graph.compiling import calling, compiled
from ops.graph.cpu_norms import CASES, WIDTH
from tileops import errors


def sentence(error):
    """Return the message of an exception as one line."""
    return " ".join(str(error).split())


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        pytest.param(lambda op: op(torch.ones(3, 7)), errors.ShapeMismatchError, id="width"),
        pytest.param(
            lambda op: op(torch.ones(3, 8), torch.ones(9)), errors.ShapeMismatchError, id="weight"
        ),
        pytest.param(
            lambda op: op(torch.ones(3, 8).double()), errors.DtypeMismatchError, id="dtype"
        ),
        pytest.param(
            lambda op: op(torch.ones(3, 8), torch.ones(8).half()),
            errors.DtypeMismatchError,
            id="mixed-dtypes",
        ),
        pytest.param(lambda op: op(None), errors.MissingInputError, id="missing"),
    ],
)
def test_a_call_that_does_not_fit(call, kind):
    """The compilation fails with the sentence of the eager error."""
    op, launches = CASES["LayerNormFwdOp"].make()
    with pytest.raises(kind) as eager:
        call(op)
    with pytest.raises(TorchDynamoException) as traced:
        compiled(lambda: call(op))[0]()
    assert sentence(eager.value) in sentence(traced.value)
    assert launches == []


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda op, x: op(x, None, None, None), id="too-many"),
        pytest.param(lambda op, x: op(x, wieght=x), id="unknown-keyword"),
        pytest.param(lambda op, x: op(), id="too-few"),
    ],
)
def test_a_call_with_other_arguments(call):
    """It fails compiled as it does eagerly; the op is named."""
    op, _ = CASES["LayerNormFwdOp"].make()
    x = torch.ones(3, 8)
    with pytest.raises(TypeError):
        call(op, x)
    with pytest.raises(TorchDynamoException, match="LayerNormFwdOp"):
        compiled(lambda x: call(op, x))[0](x)


def test_a_call_that_no_kernel_serves():
    """Selection runs in the call, so its error arrives as it is, and the next call is served."""
    op, _ = CASES["LayerNormFwdOp"].make()
    wide = type(op)(65)
    with pytest.raises(errors.OpNotAvailableError, match="at most 64 elements, got 65") as error:
        compiled(calling(wide), "aot_eager")[0](torch.ones(3, 65))
    assert error.value.selection is not None
    compiled(calling(op))[0](torch.ones(3, 8))


def test_a_failed_launch():
    """An exception of the kernel reaches the caller unchanged."""
    op, _ = CASES["LayerNormFwdOp"].make()
    function, _ = compiled(calling(op))
    x = torch.ones(3, 8)
    function(x)
    (built,) = op.iter_kernels()

    def fail(*tensors):
        raise ArithmeticError("the launch failed")

    built.kernel.compute = fail
    with pytest.raises(ArithmeticError, match="the launch failed"):
        function(x)


class TestGradients:
    """No result is detached silently."""

    def test_compiled(self):
        """An input that requires a gradient is refused when the call is compiled."""
        op, _ = CASES["LayerNormFwdOp"].make()
        x = torch.ones(3, 8, requires_grad=True)
        for backend in ("eager", "aot_eager"):
            with pytest.raises(TorchDynamoException, match="input requires a gradient, and none"):
                compiled(calling(op), backend)[0](x)
        with pytest.raises(errors.ForwardOnlyError):
            op(x)

    def test_compiled_for_an_intermediate(self):
        """So is one that the graph makes from a parameter."""
        op, _ = CASES["LayerNormFwdOp"].make()
        linear = torch.nn.Linear(8, 8)
        with pytest.raises(TorchDynamoException, match="input requires a gradient"):
            compiled(lambda x: op(linear(x)))[0](torch.ones(3, 8))

    def test_a_graph_of_no_grad_is_not_used_with_gradients(self):
        """The grad mode is part of what a graph holds for."""
        op, _ = CASES["LayerNormFwdOp"].make()
        x = torch.ones(3, 8, requires_grad=True)
        function, _ = compiled(calling(op))
        with torch.no_grad():
            function(x)
        with pytest.raises(TorchDynamoException, match="requires a gradient"):
            function(x)

    def test_detached_inside(self):
        """Inside the graph, detach and no_grad say that the result needs none."""
        op, _ = CASES["LayerNormFwdOp"].make()
        x = torch.ones(3, 8, requires_grad=True)

        def act(x):
            with torch.no_grad():
                first = op(x)
            return op(x.detach()) + first + x

        result = compiled(act, "aot_eager")[0](x)
        result.sum().backward()
        torch.testing.assert_close(x.grad, torch.ones(3, 8))

    def test_under_a_target(self, acme):
        """A target's kernel may be differentiable eagerly; its node is not, and says so."""
        from tileops import LayerNormFwdOp

        op = LayerNormFwdOp(8, target="acme")
        x = torch.randn(3, 8, requires_grad=True)
        assert op(x).requires_grad
        with pytest.raises(TorchDynamoException, match="requires a gradient"):
            compiled(calling(op))[0](x)


class TestTransforms:
    """The transforms of torch.func are refused by name, eagerly and compiled."""

    @pytest.fixture
    def op(self):
        return CASES["LayerNormFwdOp"].make()[0]

    def test_vmap(self, op):
        x = torch.randn(4, 3, WIDTH)
        with pytest.raises(errors.MappedCallError, match="vmap does not map over the op"):
            torch.func.vmap(op)(x)
        with pytest.raises(TorchDynamoException, match="vmap does not map over the op"):
            compiled(torch.func.vmap(calling(op)))[0](x)

    def test_vmap_over_something_else(self, op):
        """A call on tensors that vmap does not map over is an ordinary one."""
        x = torch.randn(3, WIDTH)
        y = torch.func.vmap(lambda row: op(x)[0] + row)(x)
        torch.testing.assert_close(y, op(x)[0] + x)

    def test_grad(self, op):
        x = torch.randn(3, WIDTH)
        with pytest.raises(errors.GradientThroughNodeError, match="input requires a gradient"):
            torch.func.grad(lambda x: op(x).sum())(x)
        with pytest.raises(TorchDynamoException, match="input requires a gradient"):
            compiled(torch.func.grad(lambda x: op(x).sum()))[0](x)

    def test_forward_mode(self, op):
        x = torch.randn(3, WIDTH)
        with pytest.raises(errors.GradientThroughNodeError):
            torch.func.jvp(op, (x,), (x,))
        with forward_ad.dual_level(), pytest.raises(errors.GradientThroughNodeError):
            op(forward_ad.make_dual(x, x))


class TestDropping:
    """A graph holds its ops weakly."""

    def test_a_dropped_op_is_named(self):
        """Calling the graph of a dropped op says which one is gone."""
        op, _ = CASES["LayerNormFwdOp"].make()
        function, counter = compiled(calling(op))
        x = torch.ones(3, 8)
        function(x)
        graph = counter.graphs[-1]
        del op, function
        torch.compiler.reset()
        gc.collect()
        with pytest.raises(errors.DroppedOpError, match=r"calls instance \d+ with norm"):
            graph(x)

    def test_another_ops_number_is_no_match(self):
        """A number that names an op with other parameters, as in another process, is refused."""
        op, _ = CASES["LayerNormFwdOp"].make()
        _, counter = compiled(calling(op))
        function = torch.compile(calling(op), backend=counter, fullgraph=True)
        function(torch.ones(3, 8))
        (node,) = (one for one in counter.graphs[-1].graph.nodes if one.op == "call_function")
        other = type(op)(WIDTH, eps=0.5)
        with pytest.raises(errors.DroppedOpError):
            node.target(torch.ones(3, 8), None, None, op.identity.params, other.identity.number)

    def test_compiling_keeps_no_op_alive(self):
        """An op that was compiled and dropped is collected with its kernels."""
        import weakref

        op, _ = CASES["LayerNormFwdOp"].make()
        compiled(calling(op))[0](torch.ones(3, 8))
        (built,) = op.iter_kernels()
        watched = weakref.ref(op), weakref.ref(built.kernel)
        torch.compiler.reset()
        del op, built
        gc.collect()
        assert [one() for one in watched] == [None, None]
