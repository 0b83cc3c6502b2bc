"""Gradients through an op that declares its backward, and what is said of all others."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from blend_family import TrainedStirFwdOp
from noting import in_threads

from ops.center_family import CenterBwdOp, CenterFwdOp, PlainCenterFwdOp
from tileops.errors import (
    BatchedGradientError,
    ForwardOnlyError,
    GradientDeclarationError,
    GradientFormError,
    GradientIntoBufferError,
    GradientOfNothingError,
    NoGradientOfInputError,
    RepeatedGradientNameError,
    ResultCountError,
    ResultDeviceError,
    ResultDtypeError,
    ResultShapeError,
    ResultTypeError,
    SecondDerivativeError,
)
from tileops.ops.gradient import Gradient


def expected(x, scale=None):
    """What torch computes, with its own gradients."""
    y = x - x.mean(0)
    return y if scale is None else y * scale


DECLARED = {"inputs": ("x",), "outputs": ("y",), "saved": ("x", "mean", "scale")}


def leaf(*shape, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, requires_grad=True)


LAYOUTS = [
    pytest.param(lambda: leaf(4, 3), id="dense"),
    pytest.param(lambda: leaf(3, 4).t(), id="transposed"),
    pytest.param(lambda: leaf(8, 3)[::2], id="strided"),
    pytest.param(lambda: leaf(1, 3).expand(4, 3), id="expanded"),
    pytest.param(lambda: leaf(13)[1:].view(4, 3), id="misaligned"),
    pytest.param(lambda: leaf(4, 3) * 2, id="intermediate"),
]


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("make", LAYOUTS)
def test_gradients_are_those_of_the_formula(make, scaled):
    """By the first call, by its form, by its plan, whatever the layout."""
    op, scale = CenterFwdOp(), leaf(3) if scaled else None
    for rows in (4, 3, 4, 4, 4):
        x = make()[:rows]
        y, mean = op(x, None, scale)
        assert (y.requires_grad, mean.requires_grad) == (True, False)
        wanted = [one for one in (x, scale) if one is not None]
        weight = torch.randn(rows, 3, dtype=x.dtype)
        ours = torch.autograd.grad((y * weight).sum(), wanted)
        theirs = torch.autograd.grad((expected(x, scale) * weight).sum(), wanted)
        torch.testing.assert_close(ours, theirs)


def test_numeric_gradients():
    """They agree with finite differences."""
    op = CenterFwdOp()
    assert torch.autograd.gradcheck(lambda x, scale: op(x, None, scale)[0], (leaf(4, 3), leaf(3)))


def test_only_what_requires_a_gradient_gets_one():
    """A frozen input is passed over."""
    op, scale = CenterFwdOp(), leaf(3)
    x = torch.ones(4, 3, dtype=torch.float64)
    op(x, None, scale)[0].sum().backward()
    assert x.grad is None
    assert scale.grad.shape == (3,)


def test_an_output_that_nothing_is_asked_of():
    """Of two outputs with gradients one may be left out; it counts as zeros."""
    op = TrainedStirFwdOp(0.5, sums=True)
    for _ in range(4):
        x, scale = torch.randn(3, 4, requires_grad=True), torch.randn(4, requires_grad=True)
        y, total = op(x, scale)
        (first,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
        torch.testing.assert_close(first, scale.expand(3, 4))
        (second,) = torch.autograd.grad(total.sum(), x)
        torch.testing.assert_close(second, torch.ones(3, 4))


def test_no_zeros_are_made_for_what_passes_none_on():
    """The backward runs the backward op and nothing else."""
    op, x = CenterFwdOp(), leaf(4, 3)
    y, _ = op(x)
    gradient = torch.ones_like(y)
    with torch.profiler.profile() as profile:
        torch.autograd.grad(y, x, gradient)
    assert not [one.key for one in profile.key_averages() if "zero" in one.key]


def test_an_expanded_gradient():
    """What comes back for an output may be laid out in any way."""
    op, x = CenterFwdOp(), leaf(4, 3)
    for _ in range(3):
        op(x)[0].sum().backward()
    torch.testing.assert_close(x.grad, torch.zeros(4, 3, dtype=torch.float64))


def test_a_call_without_gradients_records_none():
    """Under no_grad, or where no input requires one, the results are plain."""
    op, x = CenterFwdOp(), leaf(4, 3)
    for _ in range(4):
        with torch.no_grad():
            assert not op(x)[0].requires_grad
        assert op(x)[0].requires_grad
        assert op(x.detach())[0].grad_fn is None


def test_what_is_written_is_written_once():
    """A written input is updated by the forward, and by it alone."""
    op, x, total = CenterFwdOp(), leaf(4, 3), torch.zeros(3, dtype=torch.float64)
    for count in range(1, 5):
        y, _ = op(x, total)
        y.sum().backward()
        torch.testing.assert_close(total, count * x.detach().mean(0))


def test_a_change_of_what_is_saved_is_noticed():
    """torch refuses a backward over an input that was written since."""
    op, x, scale = CenterFwdOp(), leaf(4, 3), torch.ones(3, dtype=torch.float64)
    y, _ = op(x, None, scale)
    scale.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def cut_off(grad_y, x, mean, scale):
    """A backward whose results are linked to nothing."""
    with torch.no_grad():
        return grad_y - grad_y.mean(0), None


@pytest.mark.parametrize(
    "run", [pytest.param(None, id="an-op"), pytest.param(cut_off, id="a-function")]
)
def test_a_second_derivative_is_refused(run):
    """The op and create_graph are named, and first derivatives are given as before."""
    op, x = CenterFwdOp(), leaf(4, 3)
    if run is not None:
        op.gradient = lambda: Gradient(run=run, **{**DECLARED, "inputs": ("x", "scale")})
    for _ in range(2):
        y, _ = op(x)
        with pytest.raises(
            SecondDerivativeError, match=r"CenterFwdOp: .* create_graph=True"
        ) as got:
            torch.autograd.grad(y.sum(), x, create_graph=True)
        assert isinstance(got.value, ForwardOnlyError)
        torch.autograd.grad(op(x)[0].sum(), x)


def test_a_backward_with_a_backward():
    """One that torch records is differentiated again."""
    op, x = CenterFwdOp(), leaf(4, 3)

    def run(grad_y, x, mean, scale):
        return (grad_y - grad_y.mean(0)) * scale, (grad_y * (x - x.mean(0))).sum(0)

    op.gradient = lambda: Gradient(run=run, **{**DECLARED, "inputs": ("x", "scale")})
    scale, weight = leaf(3), torch.randn(4, 3, dtype=torch.float64)

    def twice(y):
        (first,) = torch.autograd.grad((y * weight).sum(), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), scale)

    torch.testing.assert_close(twice(op(x, None, scale)[0]), twice(expected(x, scale)))


def batched(op, x):
    y, _ = op(x)
    return torch.autograd.grad(y, x, torch.ones(5, 4, 3, dtype=x.dtype), is_grads_batched=True)


def mapped(op, x):
    y, _ = op(x)
    ones = torch.ones(5, 4, 3, dtype=x.dtype)
    return torch.func.vmap(lambda one: torch.autograd.grad(y, x, one, retain_graph=True))(ones)


def vectorized(op, x):
    return torch.autograd.functional.jacobian(lambda x: op(x)[0], x, vectorize=True)


@pytest.mark.parametrize("act", [batched, mapped, vectorized])
@pytest.mark.parametrize("run", [pytest.param(None, id="an-op"), pytest.param(cut_off, id="other")])
def test_several_gradients_at_once(act, run):
    """The op and what to do are named, whatever the backward runs."""
    op, x = CenterFwdOp(), leaf(4, 3)
    if run is not None:
        op.gradient = lambda: Gradient(run=run, **{**DECLARED, "inputs": ("x", "scale")})
    for _ in range(2):
        message = "CenterFwdOp: its backward is mapped .* gradients one after another"
        with pytest.raises(BatchedGradientError, match=message):
            act(op, x)
    jacobian = torch.autograd.functional.jacobian(lambda x: op(x)[0], x)
    torch.testing.assert_close(jacobian, torch.autograd.functional.jacobian(expected, x))


GRADIENTS = [
    pytest.param(lambda x: torch.ones(5, 5), ResultShapeError,
        r"the gradient of x returned by its backward must have shape \(4, 3\), got \(5, 5\)",
        id="shape"),
    pytest.param(lambda x: torch.ones(3), ResultShapeError, r"got \(3,\)", id="broadcast"),
    pytest.param(lambda x: torch.ones(2, 4, 3), ResultShapeError, r"got \(2, 4, 3\)", id="dims"),
    pytest.param(lambda x: torch.ones(4, 3, dtype=torch.int64), ResultDtypeError,
        "must have a floating dtype, got int64", id="int"),
    pytest.param(lambda x: torch.ones(4, 3, dtype=torch.complex64), ResultDtypeError,
        "must have a floating dtype, got complex64", id="complex"),
    pytest.param(lambda x: torch.ones(4, 3, device="meta"), ResultDeviceError,
        "must be on cpu, got meta", id="device"),
    pytest.param(lambda x: 3.0, ResultTypeError, "must be a tensor, got 3.0", id="number"),
    pytest.param(lambda x: None, ResultTypeError, "must be a tensor, got None", id="none"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "kind", "message"), GRADIENTS)
def test_a_gradient_that_does_not_fit(made, kind, message):
    """What the backward returned is named, in every call."""
    op, x = CenterFwdOp(), leaf(4, 3)
    op.gradient = lambda: Gradient(run=lambda g, x, *_: made(x), **DECLARED)
    for _ in range(2):
        with pytest.raises(kind, match=message):
            op(x)[0].sum().backward()


def test_a_gradient_of_another_floating_dtype():
    """torch converts it."""
    op, x = CenterFwdOp(), leaf(4, 3)
    op.gradient = lambda: Gradient(run=lambda g, x, *_: torch.ones(4, 3), **DECLARED)
    op(x)[0].sum().backward()
    assert x.grad.dtype == torch.float64


@pytest.mark.parametrize("rows", [0, 4])
def test_a_call_that_writes_no_element(rows):
    """Its gradients are zeros."""
    op = CenterFwdOp()
    for _ in range(3):
        x, scale = leaf(rows, 0), leaf(0)
        op(x, None, scale)[0].sum().backward()
        assert x.grad.shape == (rows, 0)
        assert scale.grad.shape == (0,)


def test_checkpointing_and_hooks_see_what_is_saved():
    """What the backward reads is saved through torch."""
    op, x, packed = CenterFwdOp(), leaf(4, 3), []

    def pack(tensor):
        packed.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        op(x)
    assert [tuple(one.shape) for one in packed] == [(4, 3), (3,)]


REFUSED = [
    pytest.param(
        lambda op: PlainCenterFwdOp()(leaf(4, 3)),
        ForwardOnlyError,
        "x requires a gradient, and the op is forward only",
        id="no-backward",
    ),
    pytest.param(
        lambda op: PlainCenterFwdOp()(leaf(0, 3)[:, :0]),
        ForwardOnlyError,
        "x requires a gradient, and the op is forward only",
        id="no-backward-empty",
    ),
    pytest.param(
        lambda op: op(leaf(4, 3), leaf(3)),
        NoGradientOfInputError,
        "total requires a gradient, and the op's backward gives those of x, scale alone",
        id="written",
    ),
    pytest.param(
        lambda op: op(leaf(4, 3), out=torch.empty(4, 3, dtype=torch.float64)),
        GradientIntoBufferError,
        "x requires a gradient, and an output that is written into out passes none on",
        id="buffer",
    ),
    pytest.param(
        lambda op: op(leaf(4, 3).detach(), out=leaf(4, 3)),
        GradientIntoBufferError,
        "out requires a gradient, and an output that is written into out",
        id="buffer-that-requires-one",
    ),
]


@pytest.mark.parametrize(("act", "kind", "message"), REFUSED)
def test_no_result_is_cut_off_silently(act, kind, message):
    """The error names the op and the tensor, and the op serves other calls as before."""
    op = CenterFwdOp()
    for _ in range(2):
        with pytest.raises(kind, match=message) as caught:
            act(op)
        assert isinstance(caught.value, ForwardOnlyError)
    assert op(leaf(4, 3))[0].requires_grad


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        pytest.param(
            {"inputs": ("x", "weight")},
            GradientDeclarationError,
            "inputs of its gradient() name 'weight'; such a call has x, scale",
            id="unknown-input",
        ),
        pytest.param(
            {"inputs": ("x", "total")},
            GradientDeclarationError,
            "inputs of its gradient() name 'total'; such a call has x, scale",
            id="written-input",
        ),
        pytest.param(
            {"outputs": ("x",)},
            GradientDeclarationError,
            "outputs of its gradient() name 'x'; such a call has y, mean",
            id="no-output",
        ),
        pytest.param(
            {"inputs": ("x", "x")},
            RepeatedGradientNameError,
            "inputs of its gradient() name 'x' twice",
            id="input-twice",
        ),
        pytest.param(
            {"outputs": ("y", "y")},
            RepeatedGradientNameError,
            "outputs of its gradient() name 'y' twice",
            id="output-twice",
        ),
        pytest.param(
            {"saved": ("mean", "x", "mean")},
            RepeatedGradientNameError,
            "saved of its gradient() name 'mean' twice",
            id="saved-twice",
        ),
        pytest.param(
            {"outputs": ()},
            GradientOfNothingError,
            "CenterFwdOp: its gradient() names no output",
            id="no-outputs",
        ),
        pytest.param(
            {"saved": ("rstd",)},
            GradientDeclarationError,
            "saved of its gradient() name 'rstd'; such a call has x, total, scale, y, mean",
            id="unknown-saved",
        ),
    ],
)
def test_a_declaration_that_names_what_is_not_there(change, kind, message):
    """It is refused by the first call that records a gradient; others go on."""
    op = CenterFwdOp()
    op.gradient = lambda: Gradient(run=op.backward, **{**DECLARED, **change})
    with pytest.raises(kind) as caught:
        op(leaf(4, 3), torch.zeros(3, dtype=torch.float64))
    assert message in str(caught.value)
    op(leaf(4, 3).detach())


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(DECLARED, id="a-dict"),
        pytest.param(lambda *tensors: None, id="a-function"),
        pytest.param(Gradient(run=None, **DECLARED), id="without-a-function"),
        *[
            pytest.param(
                Gradient(run=CenterBwdOp(), **{**DECLARED, field: value}), id=f"{field}-{what}"
            )
            for field in DECLARED
            for what, value in {"text": "x", "list": ["x"], "none": None, "number": (1,)}.items()
        ],
    ],
)
def test_a_declaration_that_is_none(value):
    """It is refused where it would be used."""
    op = CenterFwdOp()
    op.gradient = lambda: value
    with pytest.raises(GradientFormError, match=r"CenterFwdOp: gradient\(\) returned"):
        op(leaf(4, 3))
    op(leaf(4, 3).detach())


def test_another_number_of_gradients():
    """A backward that returns too few is named."""
    op = CenterFwdOp()
    op.gradient = lambda: Gradient(
        run=lambda *tensors: [None], **{**DECLARED, "inputs": ("x", "scale")}
    )
    y, _ = op(leaf(4, 3))
    with pytest.raises(ResultCountError, match="its backward must return a gradient for each of x"):
        y.sum().backward()


class TestTargets:
    """A target's kernel may record its own gradients; one that records none gets the op's."""

    @pytest.fixture(params=["recording", "raw"])
    def target(self, request):
        name, registry = f"{request.param}-gradients", CenterFwdOp.registry

        def build(x, total, scale):
            def run(x, total, scale):
                with torch.set_grad_enabled(request.param == "recording"):
                    return expected(x, scale), x.detach().mean(0)

            return run

        if name not in registry.targets():
            for op in ("CenterFwdOp", "PlainCenterFwdOp"):
                registry.register_kernel_builder(op, name, build)
            registry.register_kernel_builder(
                "CenterBwdOp", name, lambda *specs: lambda g, x, mean, scale: (g * 3, mean * 3)
            )
        return name

    def test_who_computes_them(self, target):
        """The builder of the backward op multiplies by three, which the formula does not."""
        op = CenterFwdOp(target=target)
        for _ in range(4):
            x = leaf(4, 3)
            weight = torch.randn(4, 3, dtype=x.dtype)
            (ours,) = torch.autograd.grad((op(x)[0] * weight).sum(), x)
            (theirs,) = torch.autograd.grad((expected(x) * weight).sum(), x)
            torch.testing.assert_close(ours, weight * 3 if target.startswith("raw") else theirs)

    def test_without_a_backward(self, target):
        """What would come back cut off is refused."""
        op = PlainCenterFwdOp(target=target)
        if target.startswith("recording"):
            assert op(leaf(4, 3))[0].requires_grad
            return
        with pytest.raises(ForwardOnlyError, match="x requires a gradient"):
            op(leaf(4, 3))
        assert op.serving_target is None


def test_threads_record_their_own_gradients():
    """Eight threads call one op and go back."""
    op = CenterFwdOp()

    def act():
        for _ in range(50):
            x = leaf(4, 3)
            weight = torch.randn(4, 3, dtype=x.dtype)
            (op(x)[0] * weight).sum().backward()
            torch.testing.assert_close(x.grad, weight - weight.mean(0))

    _, errors = in_threads(8, act)
    assert errors == []


def test_a_dropped_op_goes_at_once():
    """A plan that records gradients holds no op; a result holds the backward it needs."""
    op, x = CenterFwdOp(), leaf(4, 3)
    y = [op(x)[0] for _ in range(5)][-1]
    gone, backward = weakref.ref(op), weakref.ref(op.backward)
    gc.collect()
    gc.disable()
    try:
        del op
        assert gone() is None
        assert backward() is not None
        y.sum().backward()
        del y
        assert backward() is None
    finally:
        gc.enable()


def test_the_backward_op_is_an_op_of_its_own():
    """It can be called without a graph."""
    x, mean = torch.randn(4, 3), torch.zeros(3)
    grad, _ = CenterBwdOp()(torch.ones(4, 3), x, mean)
    torch.testing.assert_close(grad, torch.zeros(4, 3))
