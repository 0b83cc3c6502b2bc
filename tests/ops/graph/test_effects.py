"""Ops that write: in place, into a buffer, with an execution argument, from two classes."""

from __future__ import annotations

import pytest
import torch

from backend.probe import AccumulateFwdOp, ProbeFwdOp, TwiceFwdOp, registry_of, with_registry
from ops.center_family import PlainCenterFwdOp
from ops.graph.compiling import calling, check, compiled, targets

BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])


def made(op, *parameters):
    """Return an op with a registry of its own."""
    return with_registry(op, registry_of())(*parameters)


@BACKENDS
def test_an_input_written_in_place(backend):
    """The graph writes the caller's tensor, and gives it back as the output that it is."""
    op = made(AccumulateFwdOp)
    function, counter = compiled(lambda total, x: op(total, x * 2), backend)
    total, x = torch.zeros(2, 3), torch.ones(2, 3)
    moved, largest = function(total, x)
    check(total, torch.full((2, 3), 2.0))
    check(largest, torch.full((2,), 2.0))
    assert moved is total
    assert sum("Accumulate" in one for one in targets(counter)) == 1


@BACKENDS
def test_writes_keep_their_order(backend):
    """What is read before a write and after it differs, whatever the compiler moves."""
    op = made(AccumulateFwdOp)

    def steps(total, x):
        before = total + 0
        _, first = op(total, x)
        middle = total + 0
        _, second = op(total, x)
        return before, first, middle, second, total + 0

    function, _ = compiled(steps, backend)
    total, x = torch.zeros(2, 3), torch.ones(2, 3)
    results = function(total, x)
    assert [one.flatten()[0].item() for one in results] == [0, 1, 1, 2, 2]
    check(total, torch.full((2, 3), 2.0))


def test_a_write_to_an_intermediate():
    """A tensor that the graph makes is written without a copy reaching the caller."""
    op = made(AccumulateFwdOp)
    function, _ = compiled(lambda x: op(x * 3, x)[0], "aot_eager")
    x = torch.ones(2, 3)
    check(function(x), torch.full((2, 3), 4.0))
    check(x, torch.ones(2, 3))


def test_inductor_keeps_effects():
    """Generated code writes what the eager call writes."""
    op = made(AccumulateFwdOp)

    def steps(total, x):
        _, largest = op(total, x.sin())
        return total * 2 + largest[:, None]

    function = torch.compile(steps, fullgraph=True)
    totals, x = (torch.zeros(2, 3), torch.zeros(2, 3)), torch.randn(2, 3)
    torch.testing.assert_close(function(totals[0], x), steps(totals[1], x))
    torch.testing.assert_close(totals[0], totals[1])


@BACKENDS
def test_a_buffer(backend):
    """An output goes to the buffer given, which is what the call returns."""
    op = made(ProbeFwdOp)
    function, _ = compiled(lambda x, out: op(x + 1, out=out), backend)
    x, out = torch.ones(2, 3), torch.empty(2, 3)
    assert function(x, out) is out
    check(out, torch.full((2, 3), 4.0))


def test_calls_with_and_without_a_buffer_are_two_operators():
    """Each declares its own effects."""
    op = made(ProbeFwdOp)

    def both(x, out):
        op(x, out=out)
        return op(x, out=None)

    function, counter = compiled(both)
    function(torch.ones(2, 3), torch.empty(2, 3))
    first, second = targets(counter)
    assert "_into_out" in first
    assert "_into_out" not in second
    schema = torch.ops.tileops
    schemas = [str(getattr(schema, one.split(".")[1]).default._schema) for one in (first, second)]
    assert ") out" in schemas[0]
    assert schemas[0].endswith("-> ()")
    assert "!" not in schemas[1]


@pytest.mark.parametrize("splits", [3, None])
def test_an_execution_argument_reaches_the_kernel(splits):
    """It is passed when it was, None included."""
    op = made(ProbeFwdOp)
    function, _ = compiled(lambda x: op(x, splits=splits), "aot_eager")
    check(function(torch.ones(2, 3)), torch.full((2, 3), 2.0))
    assert op.kernel_config() == ({"splits": splits},)


def test_an_op_made_of_others_is_one_node():
    """Its parts run inside."""
    op = made(TwiceFwdOp)
    function, counter = compiled(calling(op), "aot_eager")
    check(function(torch.ones(2, 3)), torch.full((2, 3), 4.0))
    assert len(targets(counter)) == 1


def test_a_write_under_a_mode_is_noted_by_autograd():
    """Writing a tensor that a backward pass still needs is an error of torch's, as in torch."""
    op = made(AccumulateFwdOp)
    weight = torch.ones(2, 3, requires_grad=True)
    total = torch.ones(2, 3)
    product = weight * total
    with torch.no_grad():
        compiled(calling(op))[0](total, torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


class TestEverythingAtOnce:
    """An input written in place, two outputs, and a buffer that receives one of them."""

    def formula(self, x, total, scale, out):
        mean = x.mean(0)
        total += mean
        return out.copy_((x - mean) * scale), mean

    def tensors(self):
        torch.manual_seed(1)
        return torch.randn(4, 3), torch.zeros(3), torch.randn(3), torch.empty(4, 3)

    @pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
    def test_results_and_writes(self, backend):
        """Both are those of the eager call, in the order of the program."""
        op = PlainCenterFwdOp()

        def steps(center, x, total, scale, out):
            y, mean = center(x * 2, total, scale, out)
            first = out.sum()
            z, _ = center(x, total, scale, out)
            return y + 1, mean * total, first, z.square()

        def call(x, total, scale, out):
            return op(x, total, scale, out=out)

        function = torch.compile(
            lambda *tensors: steps(call, *tensors), backend=backend, fullgraph=True
        )
        ours, theirs = self.tensors(), self.tensors()
        torch.testing.assert_close(function(*ours), steps(self.formula, *theirs))
        torch.testing.assert_close(ours, theirs)

    def test_the_schema_declares_both_writes(self):
        """The operator returns what is new alone, and annotates what it writes."""
        op = PlainCenterFwdOp()
        function, counter = compiled(lambda x, total, out: op(x, total, out=out))
        x, total, _, out = self.tensors()
        y, mean = function(x, total, out)
        assert y is out
        (name,) = [one for one in targets(counter) if "Center" in one]
        overload = getattr(torch.ops.tileops, name.split(".")[1]).default
        written = {one.name for one in overload._schema.arguments if one.is_write}
        assert written == {"total", "out"}
        assert len(overload._schema.returns) == 1
        torch.testing.assert_close(mean, x.mean(0))

    @pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
    def test_parts_of_larger_tensors(self, backend):
        """Rows of a graph's own tensor, and of the caller's, are written where they lie."""
        op = PlainCenterFwdOp()

        def steps(x, totals, out):
            own = torch.zeros(8, 3)
            op(x, totals[1], out=own[2:6])
            op(x + 1, totals[1], out=out[4:])
            return own * 1

        function = torch.compile(steps, backend=backend, fullgraph=True)
        x, totals, out = torch.randn(4, 3), torch.zeros(2, 3), torch.zeros(8, 3)
        own = function(x, totals, out)
        centred = x - x.mean(0)
        torch.testing.assert_close(own[2:6], centred)
        torch.testing.assert_close(own[:2], torch.zeros(2, 3))
        torch.testing.assert_close(out[4:], centred)
        torch.testing.assert_close(out[:4], torch.zeros(4, 3))
        torch.testing.assert_close(totals[1], 2 * x.mean(0) + 1)
        torch.testing.assert_close(totals[0], torch.zeros(3))

    def test_module_buffers_that_are_written(self):
        """As running statistics are: compiled, exported, in a state dict afterwards."""

        class Running(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.center = PlainCenterFwdOp()
                self.register_buffer("total", torch.zeros(3))

            def forward(self, x):
                y, mean = self.center(x, self.total)
                return y + mean

        x = torch.randn(4, 3)
        module = Running()
        torch.compile(module, backend="aot_eager", fullgraph=True)(x)
        torch.testing.assert_close(module.state_dict()["total"], x.mean(0))
        program = torch.export.export(module, (x,)).run_decompositions()
        assert list(program.graph_signature.buffers_to_mutate.values()) == ["total"]
        exported = program.module()
        torch.testing.assert_close(exported(x), x)
        torch.testing.assert_close(exported.state_dict()["total"], 2 * x.mean(0))
