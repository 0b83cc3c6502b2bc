"""torch.compile of every op: one node a call, the eager results, no compilation per size."""

from __future__ import annotations

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

from ops.graph.compiling import calling, check, compiled, targets
from ops.graph.cpu_norms import CASES, WIDTH
from tileops import LayerNormFwdOp
from tileops.ops import _observers

EVERY_OP = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@EVERY_OP
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_one_node_and_the_eager_results(case, backend):
    """A call is one node, whatever it returns, and gives bit by bit what the eager call gives."""
    op, launches = case.make()
    inputs = case.tensors(3)
    function, counter = compiled(calling(op), backend)
    expected = op(*inputs)
    before = len(launches)
    check(function(*inputs), expected)
    assert len(launches) == before + 1
    calls = [one for one in targets(counter) if "getitem" not in one]
    assert len(calls) == 1
    assert calls[0].startswith(f"tileops.{type(op).__name__}")


@EVERY_OP
def test_sizes_that_vary_compile_once(case):
    """A dim marked dynamic, and the rows of ``dynamic=True``, serve every size."""
    op, _ = case.make()
    for options in ({}, {"dynamic": True}):
        torch.compiler.reset()
        function, counter = compiled(calling(op), "aot_eager", **options)
        for rows in (3, 5, 2, 17):
            inputs = case.tensors(2, rows)
            if not options:
                for one, kind in zip(inputs, case.inputs, strict=True):
                    if kind == "x":
                        torch._dynamo.mark_dynamic(one, 1)
            check(function(*inputs), op(*inputs))
        assert counter.frame_count == 1


def test_automatic_dynamic_shapes_compile_twice():
    """Without a mark the second size is compiled for every size."""
    op, _ = CASES["LayerNormFwdOp"].make()
    function, counter = compiled(calling(op))
    for rows in range(2, 12):
        x = torch.randn(rows, WIDTH)
        check(function(x), op(x))
    assert counter.frame_count == 2


@pytest.mark.parametrize("given", ["neither", "weight", "bias", "both"])
def test_absent_inputs(given):
    """Inputs that are left out, by position or by keyword, are left out of the node."""
    op, _ = CASES["LayerNormFwdOp"].make()
    x, weight, bias = CASES["LayerNormFwdOp"].tensors(3)
    arguments = {"weight": weight, "bias": bias}
    chosen = {name: one for name, one in arguments.items() if given in (name, "both")}
    function, _ = compiled(calling(op))
    check(function(x, **chosen), op(x, **chosen))


def test_presence_that_varies_is_compiled_apart():
    """The same call with and without a weight are two graphs."""
    op, _ = CASES["RMSNormFwdOp"].make()
    x, weight = CASES["RMSNormFwdOp"].tensors(3)
    function, counter = compiled(lambda x, weight=None: op(x, weight))
    for _ in range(2):
        check(function(x), op(x))
        check(function(x, weight), op(x, weight))
    assert counter.frame_count == 2


def test_among_other_operations():
    """A graph holds the operations around the op and one node for it, in functions and modules."""
    case = CASES["FusedAddRMSNormFwdOp"]

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, _ = case.make()
            self.weight = torch.nn.Parameter(torch.randn(WIDTH), requires_grad=False)
            self.linear = torch.nn.Linear(WIDTH, WIDTH).requires_grad_(False)

        def forward(self, x, residual):
            y, residual = self.norm(self.linear(x), residual, self.weight)
            return torch.relu(y), residual

    block, (x, residual, _) = Block(), case.tensors(4)
    function, counter = compiled(block, "aot_eager")
    check(function(x, residual), block(x, residual))
    assert sum(one.startswith("tileops.") for one in targets(counter)) == 1
    assert counter.frame_count == 1


def test_an_op_compiled_by_itself():
    """torch.compile takes the op as it is."""
    op, _ = CASES["LayerNormFwdOp"].make()
    function, counter = compiled(op)
    x, _, bias = CASES["LayerNormFwdOp"].tensors(3)
    check(function(x, bias=bias), op(x, bias=bias))
    assert counter.frame_count == 1


def test_inductor():
    """Inductor's code calls the op between what it generates."""
    op, _ = CASES["RMSNormFwdOp"].make()
    weight = torch.randn(WIDTH)

    def act(x, weight):
        return torch.relu(op(x * 2, weight)) + 1

    function = torch.compile(act, fullgraph=True, dynamic=True)
    for rows in (4, 7):
        x = torch.randn(rows, WIDTH)
        torch.testing.assert_close(function(x, weight), act(x, weight))


@pytest.mark.parametrize(
    ("mode", "inference"),
    [
        pytest.param(torch.no_grad, False, id="no-grad"),
        pytest.param(torch.inference_mode, True, id="inference-mode"),
    ],
)
def test_modes_without_gradients(mode, inference):
    """Under no_grad and inference_mode inputs may require gradients; the result does not."""
    op, _ = CASES["LayerNormFwdOp"].make()
    x = torch.randn(3, WIDTH, requires_grad=True)
    function, _ = compiled(calling(op), "aot_eager")
    with mode():
        result = function(x)
        check(result, op(x))
    assert not result.requires_grad
    assert result.is_inference() == inference


def test_autocast_leaves_inputs_as_they_are():
    """Autocast casts nothing for an op: it computes in the dtype of its inputs."""
    op, _ = CASES["RMSNormFwdOp"].make()
    x = torch.randn(3, WIDTH)
    function, _ = compiled(calling(op))
    with torch.autocast("cpu", torch.bfloat16):
        assert op(x).dtype is function(x).dtype is torch.float32
        check(function(x), op(x))


def test_no_rows():
    """A call that writes no element launches nothing, compiled too."""
    op, launches = CASES["LayerNormFwdOp"].make()
    function, _ = compiled(calling(op), "aot_eager")
    assert function(torch.empty(0, WIDTH)).shape == (0, WIDTH)
    assert launches == []


def test_strided_inputs():
    """The result of a strided input is dense, as the graph was told."""
    op, _ = CASES["LayerNormFwdOp"].make()
    x = torch.randn(WIDTH, 5).t()
    function, _ = compiled(calling(op), "aot_eager")
    check(function(x), op(x))
    assert function(x).is_contiguous()


def test_instances_with_equal_parameters_share_a_graph():
    """Passed to one function, any number of instances costs two compilations."""
    case = CASES["LayerNormFwdOp"]
    first, _ = case.make()
    ops = [first, *(type(first)(WIDTH) for _ in range(9))]
    function, counter = compiled(lambda op, x: op(x))
    x = torch.randn(3, WIDTH)
    for op in ops:
        check(function(op, x), first(x))
    assert counter.frame_count == 2
    assert all(len(list(op.iter_kernels())) == 1 for op in ops)


def test_blocks_compiled_one_by_one():
    """The blocks of a model share two compilations where integers of modules may vary."""
    op, _ = CASES["LayerNormFwdOp"].make()

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = type(op)(WIDTH)

        def forward(self, x):
            return self.norm(x) + x

    blocks, (x, *_) = [Block() for _ in range(12)], CASES["LayerNormFwdOp"].tensors(3)
    counter = CompileCounterWithBackend("eager")
    with torch._dynamo.config.patch(allow_unspec_int_on_nn_module=True):
        for block in blocks:
            block.compile(backend=counter, fullgraph=True)
            check(block(x), op(x) + x)
    assert counter.frame_count == 2
    assert all(len(list(block.norm.iter_kernels())) == 1 for block in blocks)


def test_instances_with_other_parameters_do_not():
    """Another epsilon is another graph, and the result that epsilon gives."""
    first, _ = CASES["LayerNormFwdOp"].make()
    other = type(first)(WIDTH, eps=0.5)
    function, _ = compiled(lambda op, x: op(x))
    x = torch.randn(3, WIDTH)
    for op in (first, other, first):
        expected = torch.nn.functional.layer_norm(x, (WIDTH,), eps=op.eps)
        torch.testing.assert_close(function(op, x), expected)


def test_other_ops_traced_later_recompile_nothing():
    """What a graph depends on does not change when further ops are traced."""
    op, _ = CASES["LayerNormFwdOp"].make()
    x = torch.randn(3, WIDTH)
    function, counter = compiled(calling(op))
    function(x)
    for case in CASES.values():
        further, _ = case.make()
        compiled(calling(further))[0](*case.tensors(3))
    function(x)
    assert counter.frame_count == 1


def test_the_first_call_is_the_compiled_one():
    """Nothing has to run eagerly first, and later eager calls find what the compiled one built."""
    op, launches = CASES["LayerNormFwdOp"].make()
    function, _ = compiled(calling(op))
    x = torch.randn(3, WIDTH)
    y = function(x)
    (built,) = op.iter_kernels()
    check(op(x), y)
    assert [one.kernel for one in op.iter_kernels()] == [built.kernel]
    assert len(launches) == 2


def test_selection_is_told_of_as_in_eager_calls():
    """An observer hears of the selection of a compiled call once, and its calls are counted."""
    op, _ = CASES["LayerNormFwdOp"].make()
    function, _ = compiled(calling(op))
    x, heard, cell = torch.randn(3, WIDTH), [], _observers.Cell()

    def observe(specialisation):
        heard.append(specialisation)
        return cell

    end = _observers.subscribe(observe)
    try:
        function(x)
        function(x)
    finally:
        end()
    (told,) = heard
    assert [one.winner() for one in told.selections] == ["cpu_rows"]
    assert cell.calls == 2


@pytest.mark.parametrize("shape", [(3, 300), (2, 5, 300)], ids=["rows", "leading-dims"])
def test_under_a_target(acme, shape):
    """The compiled call runs on the target that the instance names; no eager call comes first."""
    op = LayerNormFwdOp(300, target="acme")
    x, weight = torch.randn(shape), torch.randn(300)
    function, counter = compiled(calling(op), "aot_eager")
    check(function(x, weight), torch.nn.functional.layer_norm(x, (300,), weight))
    assert op.serving_target == "acme"
    (call,) = targets(counter)
    assert call.startswith("tileops.LayerNormFwdOp")


def test_backends_are_loaded_before_anything_is_traced(acme):
    """What an added kernel serves is decided by the constructor's registry, as in eager calls."""
    op = LayerNormFwdOp(WIDTH)
    x = torch.randn(3, WIDTH)
    function, _ = compiled(calling(op))
    check(function(x), op(x))
    (built,) = op.iter_kernels()
    assert type(built.kernel).__name__ == "ShortRowsLayerNorm"


def test_eager_calls_never_meet_the_node():
    """A call outside a graph reaches its kernel without torch's dispatcher."""
    op, launches = CASES["LayerNormFwdOp"].make()
    x = torch.randn(3, WIDTH)
    compiled(calling(op))[0](x)
    with torch.profiler.profile() as profile:
        for _ in range(4):
            op(x)
    assert not any("tileops::" in event.key for event in profile.key_averages())
    assert len(launches) == 5
