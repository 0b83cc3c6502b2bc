"""What a target's builder and kernels receive, how they are cached, and what they must return."""

from __future__ import annotations

import pytest
import torch
from probe import AccumulateFwdOp, Builder, ProbeFwdInterface, probe_op, with_registry

from tileops.backend import TensorSpec
from tileops.ops._serving import Serving
from tileops.ops._signature import ResultError, SignatureError

CPU = torch.device("cpu")


@pytest.fixture
def builder(registry):
    """The builder of the only target, which every op names by default."""
    made = Builder()
    registry.register_kernel_builder("ProbeFwdOp", "acme", made)
    registry.set_default_target("acme")
    return made


def test_the_builder_gets_descriptions_in_order_and_parameters_by_keyword(registry, builder):
    """One TensorSpec an input, None for an absent one; every parameter, defaults included."""
    op = probe_op(registry)(factor=3)
    op(torch.ones(2, 4))
    op(torch.ones(2, 4), torch.zeros(4))
    spec = TensorSpec((2, 4), torch.float32, CPU)
    parameters = {"factor": 3.0, "label": None}
    assert builder.built == [
        (spec, None, parameters),
        (spec, TensorSpec((4,), torch.float32, CPU), parameters),
    ]


def test_constructing_an_op_builds_nothing(registry, builder):
    """Building happens in the call."""
    probe_op(registry)()
    assert builder.built == []


X = torch.arange(24, dtype=torch.float32).reshape(4, 6)


@pytest.mark.parametrize(
    ("calls", "builds"),
    [
        pytest.param([(X,), (X + 1,)], 1, id="same-kind"),
        pytest.param([(X,), (X[:3],)], 2, id="another-shape"),
        pytest.param([(X,), (X.reshape(6, 4),)], 2, id="same-elements-another-shape"),
        pytest.param([(X,), (X.half(),)], 2, id="another-dtype"),
        pytest.param([(X,), (X, X[0])], 2, id="an-input-more"),
        pytest.param([(X, X[0]), (X, X[1])], 1, id="same-inputs-given"),
        pytest.param([(X,), (X.T.contiguous().T,)], 1, id="other-strides"),
        pytest.param([(X[:, ::2],), (X[:, :3],)], 1, id="two-views"),
    ],
)
def test_caching(registry, builder, calls, builds):
    """A kernel serves inputs of the same presence, dtype and shape, and nothing else."""
    op = probe_op(registry)()
    for inputs in (*calls, *calls):
        expected = inputs[0] * 2 + (inputs[1] if len(inputs) > 1 else 0) + 100
        torch.testing.assert_close(op(*inputs), expected)
    assert len(builder.built) == builds
    assert len(op.kernel_config()) == builds


def test_kernels_are_kept_per_device(registry, builder):
    """The same inputs on another device are another kernel."""
    serving = Serving(registry, "ProbeFwdOp", "acme")
    params = {"factor": 2.0, "label": None}
    for _ in range(2):
        for name in ("cpu", "xpu:0", "xpu:1"):
            device = torch.device(name)
            specs = (TensorSpec((2, 4), torch.float32, device), None)
            serving.kernel("acme", device, specs, params)
    assert [str(x.device) for x, _, _ in builder.built] == ["cpu", "xpu:0", "xpu:1"]


def test_two_instances_share_no_kernels(registry, builder):
    """Kernels belong to the op instance, whose parameters they were built with."""
    for factor in (2, 3):
        y = probe_op(registry)(factor=factor)(torch.ones(2))
        assert y.tolist() == [factor + 100.0] * 2
    assert [parameters["factor"] for _, _, parameters in builder.built] == [2.0, 3.0]


def noting(seen):
    """Return a builder whose kernels note what they are called with."""

    def build(x, bias, **params):
        def run(*inputs, **keywords):
            seen.append((inputs, keywords))
            out = keywords.get("out")
            y = inputs[0] * 1
            return y if out is None else out.copy_(y)

        return run

    return build


def test_the_kernel_gets_the_inputs_in_order(registry):
    """As the caller passed them, None where absent."""
    seen = []
    registry.register_kernel_builder("ProbeFwdOp", "acme", noting(seen))
    op = probe_op(registry)(target="acme")
    x, bias = torch.ones(2, 4), torch.ones(4)
    for _ in range(2):
        op(x)
        op(x, bias)
    assert all(keywords == {} for _, keywords in seen)
    assert [tuple(one is given for one, given in zip(inputs, (x, bias), strict=True))
            for inputs, _ in seen] == [(True, False), (True, True)] * 2  # fmt: skip
    assert seen[0][0][1] is None


def test_the_kernel_gets_buffers_and_execution_arguments_by_keyword(registry):
    """Those the caller passed, and no others, on the first call and on later ones."""
    seen = []
    registry.register_kernel_builder("ProbeFwdOp", "acme", noting(seen))
    op = probe_op(registry)(target="acme")
    x, out = torch.ones(2, 4), torch.empty(2, 4)
    for _ in range(2):
        assert op(x, out=out, splits=4) is out
        op(x, splits=8)
        assert op(x, out=out) is out
        op(x)
    keywords = [{"out": out, "splits": 4}, {"splits": 8}, {"out": out}, {}]
    assert [sorted(one) for _, one in seen] == [sorted(one) for one in keywords] * 2
    assert all(one.get("out", out) is out for _, one in seen)
    assert [one.get("splits") for _, one in seen] == [4, 8, None, None] * 2


def test_in_tree_kernels_get_them_by_keyword_too(registry):
    """The interface declares them keyword-only."""
    op = probe_op(registry)()
    x, out = torch.ones(2, 4), torch.empty(2, 4)
    for splits in (4, 8, 4):
        assert op(x, out=out, splits=splits) is out
        assert out.tolist() == [[2.0] * 4] * 2
        assert op.kernel_config() == ({"splits": splits},)
    assert "out" in ProbeFwdInterface.forward.__kwdefaults__


@pytest.mark.parametrize(
    ("keywords", "text"),
    [
        pytest.param({"split": 4}, "split is no execution argument.*splits", id="mistyped"),
        pytest.param({"splits": "four"}, "splits must be int", id="type"),
        pytest.param({"out": torch.empty(3)}, "out must have shape", id="shape"),
        pytest.param({"out": torch.empty(2, dtype=torch.float16)}, "out must have dtype", id="d"),
        pytest.param({"out": torch.empty(4)[::2]}, "out must be contiguous", id="contiguous"),
    ],
)
def test_they_are_checked_before_a_target_runs(registry, builder, keywords, text):
    """A call passed to a target has passed the checks of the signature."""
    op = probe_op(registry)()
    with pytest.raises(SignatureError, match=text):
        op(torch.ones(2), **keywords)
    assert builder.built == []


VIEWS = [
    pytest.param(torch.ones(4, 6).T, id="transposed"),
    pytest.param(torch.ones(6, 8)[:, ::2], id="strided"),
    pytest.param(torch.ones(1, 4).expand(6, 4), id="expanded"),
    pytest.param(torch.ones(25)[1:].view(6, 4), id="misaligned"),
]


@pytest.mark.parametrize("x", VIEWS)
def test_unwritten_inputs_reach_a_target_contiguous(registry, x):
    """They are copied where needed, on every call; the caller's tensor stays as it is."""
    seen = []
    registry.register_kernel_builder("ProbeFwdOp", "acme", noting(seen))
    op = probe_op(registry)(target="acme")
    stride = x.stride()
    for _ in range(2):
        torch.testing.assert_close(op(x), x.contiguous())
    for (given, _), _ in seen:
        assert given.is_contiguous()
        assert given.data_ptr() % 16 == 0
        assert given is not x
    assert x.stride() == stride


WRONG_RESULTS = [
    pytest.param(lambda x, bias: x[:1] + 0, r"have shape \(2, 4\)", id="shape"),
    pytest.param(lambda x, bias: x.half(), "have dtype float32", id="dtype"),
    pytest.param(lambda x, bias: x.to("meta"), "be on cpu", id="device"),
    pytest.param(lambda x, bias: None, "one tensor", id="nothing"),
    pytest.param(lambda x, bias: (x + 0, x + 1), "one tensor", id="two"),
    pytest.param(lambda x, bias: x.tolist(), "one tensor", id="a-list"),
    pytest.param(lambda x, bias: x, "be a new tensor", id="an-input-given-back"),
    pytest.param(lambda x, bias: x.view(2, 4), "be a new tensor", id="a-view-of-an-input"),
]


@pytest.mark.parametrize(("kernel", "text"), WRONG_RESULTS)
def test_results_of_a_target_are_checked(registry, kernel, text):
    """As those of in-tree kernels are; the error names the target."""
    registry.register_kernel_builder("ProbeFwdOp", "acme", lambda x, bias, **params: kernel)
    with pytest.raises(ResultError, match=text) as caught:
        probe_op(registry)(target="acme")(torch.ones(2, 4))
    assert "ProbeFwdOp" in str(caught.value)
    assert "target acme" in str(caught.value)


def test_a_result_beside_the_buffer(registry):
    """A kernel that is given a buffer returns it."""
    registry.register_kernel_builder(
        "ProbeFwdOp", "acme", lambda x, bias, **params: lambda x, bias, out: x + 1
    )
    op = probe_op(registry)(target="acme")
    with pytest.raises(ResultError, match="be the buffer passed as out"):
        op(torch.ones(2, 4), out=torch.empty(2, 4))


def test_a_target_may_return_differentiable_results(registry):
    """Only in-tree kernels refuse inputs that require a gradient."""
    registry.register_kernel_builder("ProbeFwdOp", "acme", Builder())
    x = torch.ones(2, requires_grad=True)
    probe_op(registry)(target="acme")(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def accumulate(registry, kernel):
    """Return the in-place op whose target runs *kernel*."""
    registry.register_kernel_builder("AccumulateFwdOp", "acme", lambda total, x: kernel)
    return with_registry(AccumulateFwdOp, registry)(target="acme")


def adding(total, x):
    """Write in place and return the new output alone."""
    total += x
    return total.amax(dim=1)


@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(adding, id="one-result"),
        pytest.param(None, id="in-tree"),
    ],
)
def test_an_op_that_writes_in_place(registry, kernel):
    """The kernel writes the caller's tensor, which the op gives back beside the new output."""
    op = accumulate(registry, adding) if kernel else with_registry(AccumulateFwdOp, registry)()
    total, x = torch.zeros(2, 3), torch.arange(6, dtype=torch.float32).view(3, 2).T
    for step in (1, 2, 3):
        moved, largest = op(total, x)
        assert moved is total
        assert total.tolist() == [[0.0, 2.0 * step, 4.0 * step], [step, 3.0 * step, 5.0 * step]]
        assert largest.tolist() == [4.0 * step, 5.0 * step]


def test_a_written_input_that_is_declared_contiguous_is_never_copied(registry):
    """It is checked instead, and nothing runs."""
    op = accumulate(registry, adding)
    total = torch.zeros(3, 2).T
    with pytest.raises(SignatureError, match="total must be contiguous"):
        op(total, torch.ones(2, 3))
    assert total.sum() == 0


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        pytest.param(lambda t, x: None, "one tensor", id="the-new-output-missing"),
        pytest.param(lambda t, x: (t, x.amax(1)), "one tensor", id="the-given-back-returned"),
        pytest.param(lambda t, x: [], "one tensor", id="an-empty-list"),
        pytest.param(lambda t, x: t[:, 0], "be a new tensor", id="in-the-memory-of-the-input"),
    ],
)
def test_results_beside_an_input_given_back(registry, kernel, text):
    """A kernel returns the new outputs only, and these are checked before anything is added."""
    with pytest.raises(ResultError, match=text):
        accumulate(registry, kernel)(torch.zeros(2, 3), torch.ones(2, 3))
