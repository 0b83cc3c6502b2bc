"""Eager calls that torch watches: fake tensors, meta tensors, dispatch modes, make_fx, export."""

from __future__ import annotations

import gc

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.utils._python_dispatch import TorchDispatchMode

from ops.graph.compiling import check
from ops.graph.cpu_norms import CASES, WIDTH
from tileops import errors

EVERY_OP = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def listed(results):
    return results if isinstance(results, tuple) else (results,)


@EVERY_OP
def test_fake_tensors_stay_fake(case):
    """The result of fakes is a fake of the inferred shape, even where a real call has a plan."""
    op, launches = case.make()
    inputs = case.tensors(3, dtype=torch.bfloat16)
    expected = [op(*inputs) for _ in range(4)][-1]
    launches.clear()
    with FakeTensorMode() as mode:
        fakes = op(*(mode.from_tensor(one) for one in inputs))
    assert launches == []
    for fake, real in zip(listed(fakes), listed(expected), strict=True):
        assert type(fake) is FakeTensor
        assert (fake.shape, fake.dtype, fake.device) == (real.shape, real.dtype, real.device)
        assert fake.stride() == real.stride()


def test_fake_tensors_outside_their_mode():
    """A fake that left its mode reaches no kernel either."""
    op, launches = CASES["LayerNormFwdOp"].make()
    with FakeTensorMode():
        x = torch.empty(5, WIDTH)
    assert type(op(x)) is FakeTensor
    assert launches == []


def test_fake_tensors_on_a_device_that_is_not_there():
    """The outputs of a fake CUDA call are on its device; no kernel is selected."""
    op, launches = CASES["LayerNormFwdOp"].make()
    with FakeTensorMode():
        y = op(torch.empty(5, WIDTH, device="cuda:0"))
    assert (y.device, launches) == (torch.device("cuda:0"), [])


def test_symbolic_sizes():
    """A dim of unknown size goes through unknown, without a guard on it."""
    op, _ = CASES["LayerNormFwdOp"].make()
    environment, x = ShapeEnv(), torch.randn(6, 5, WIDTH)
    sizes = [DimDynamic.DYNAMIC, DimDynamic.STATIC, DimDynamic.STATIC]
    context = StatelessSymbolicContext(dynamic_sizes=sizes)
    with FakeTensorMode(shape_env=environment) as mode:
        fake = mode.from_tensor(x, symbolic_context=context)
        y = op(fake)
    assert isinstance(y.shape[0], torch.SymInt)
    assert str(y.shape[0]) == str(fake.shape[0])
    assert environment.guards == []


def test_fakes_are_checked():
    """Shapes and dtypes are checked as those of real tensors are."""
    op, _ = CASES["LayerNormFwdOp"].make()
    with FakeTensorMode():
        with pytest.raises(errors.ShapeMismatchError, match=r"input must have shape \(\*B, 8\)"):
            op(torch.empty(5, 7))
        with pytest.raises(errors.DtypeMismatchError):
            op(torch.empty(5, WIDTH, dtype=torch.float64))
        with pytest.raises(errors.NotATensorError):
            op("x")
        with pytest.raises(errors.ForwardOnlyError):
            op(torch.empty(5, WIDTH, requires_grad=True))


def test_meta_tensors_are_refused():
    """They hold no data and belong to no device whose kernels could be meant."""
    op, _ = CASES["LayerNormFwdOp"].make()
    with pytest.raises(errors.DeviceMismatchError, match="input must hold data, got meta"):
        op(torch.empty(5, WIDTH, device="meta"))


class Recording(TorchDispatchMode):
    """Notes the operators that reach it."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen.append(str(function))
        return function(*args, **(kwargs or {}))


@EVERY_OP
def test_a_dispatch_mode_sees_one_operator(case):
    """With modes on, nested ones too, a call is one operator; the result is the eager one."""
    op, launches = case.make()
    inputs = case.tensors(3)
    expected = [op(*inputs) for _ in range(4)][-1]
    launches.clear()
    with Recording() as outer, Recording() as inner:
        results = op(*inputs)
    check(results, expected)
    assert len(launches) == 1
    for mode in (outer, inner):
        (seen,) = mode.seen
        assert seen.startswith(f"tileops.{type(op).__name__}")


def test_a_subclass_that_dispatches():
    """A wrapper of its own meets the operator, not the kernel."""
    op, _ = CASES["LayerNormFwdOp"].make()
    seen = []

    class Wrapper(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            seen.append(str(function))
            plain = [one.inner if isinstance(one, Wrapper) else one for one in args]
            return function(*plain, **(kwargs or {}))

    x = torch.randn(3, WIDTH)
    wrapped = torch.Tensor._make_subclass(Wrapper, x)
    wrapped.inner = x
    check(op(wrapped), op(x))
    assert len(seen) == 1


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_make_fx_traces_the_call(mode):
    """The graph holds the call, not its result, and serves other rows when sizes are symbolic."""
    op, _ = CASES["LayerNormFwdOp"].make()
    x, weight, bias = CASES["LayerNormFwdOp"].tensors(3)
    graph = make_fx(lambda *inputs: op(*inputs) * 2, tracing_mode=mode)(x, weight, bias)
    x = torch.randn(5 if mode == "symbolic" else 3, WIDTH)
    check(graph(x, weight, bias), op(x, weight, bias) * 2)


@EVERY_OP
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_jit_trace_is_refused(case):
    """A trace would hold a result that nothing computes, of a recognised call too."""
    op, launches = case.make()
    inputs = case.tensors(3)
    expected = [op(*inputs) for _ in range(5)][-1]
    launches.clear()
    for make in (lambda: op, lambda: case.make()[0]):
        one = make()
        with pytest.raises(errors.JitTraceError, match=f"{type(op).__name__}: torch.jit.trace"):
            torch.jit.trace(lambda *tensors, one=one: one(*tensors), tuple(inputs))
    assert launches == []
    check(op(*inputs), expected)


class Normalized(torch.nn.Module):
    """A module that holds an op."""

    def __init__(self):
        super().__init__()
        self.norm, _ = CASES["LayerNormFwdOp"].make()
        self.weight = torch.nn.Parameter(torch.randn(WIDTH), requires_grad=False)

    def forward(self, x):
        return self.norm(x, self.weight) + 1


class TestExport:
    """torch.export of a module with an op works, in the process that holds the op."""

    @pytest.mark.parametrize("strict", [False, True], ids=["non-strict", "strict"])
    def test_a_dynamic_batch(self, strict):
        """The exported program takes any batch and contains one node for the op."""
        module = Normalized()
        sizes = ({0: torch.export.Dim("batch", min=2, max=64)},)
        program = torch.export.export(
            module, (torch.randn(4, WIDTH),), dynamic_shapes=sizes, strict=strict
        )
        for rows in (2, 9):
            x = torch.randn(rows, WIDTH)
            check(program.module()(x), module(x))
        names = [str(one.target) for one in program.graph.nodes if one.op == "call_function"]
        assert sum(one.startswith("tileops.LayerNormFwdOp") for one in names) == 1

    def test_decompositions(self):
        """Lowering to core ATen keeps the node."""
        module = Normalized()
        program = torch.export.export(module, (torch.randn(4, WIDTH),)).run_decompositions()
        x = torch.randn(4, WIDTH)
        check(program.module()(x), module(x))

    def test_a_module_that_was_dropped(self):
        """A program outlives its op only to say so."""
        module = Normalized()
        program = torch.export.export(module, (torch.randn(4, WIDTH),))
        del module
        gc.collect()
        with pytest.raises(errors.DroppedOpError, match="keep them for as long as"):
            program.module()(torch.randn(4, WIDTH))
