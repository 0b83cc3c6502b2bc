"""When an op fixes its target, and which failures undo it."""

from __future__ import annotations

import pytest
import torch
from probe import AccumulateFwdOp, Builder, ProbeKernel, probe_op, with_registry

from tileops.backend import BUILTIN
from tileops.errors import SelectionError, TargetKernelError, UnknownTargetError
from tileops.ops._signature import ResultError, SignatureError

X = torch.ones(2)


@pytest.fixture
def claimed(registry):
    """A registry whose target claims devices while its set says so."""
    registry.claims = {"cpu"}
    registry.register_detector("acme", lambda device: device.type in registry.claims)
    return registry


def test_the_target_stays_once_fixed(claimed):
    """Neither detectors nor defaults move an op that has served a call."""
    claimed.register_kernel_builder("ProbeFwdOp", "acme", Builder())
    op = probe_op(claimed)()
    assert op(X).tolist() == [102.0, 102.0]
    claimed.claims.clear()
    claimed.set_default_target(BUILTIN)
    assert op(torch.ones(3)).tolist() == [102.0] * 3
    assert op.serving_target == "acme"


def test_the_in_tree_choice_stays_too(claimed):
    """An op that ran in-tree does not move to a target that appears later."""
    claimed.claims.clear()
    claimed.register_kernel_builder("ProbeFwdOp", "acme", Builder())
    op = probe_op(claimed)()
    assert op(X).tolist() == [2.0, 2.0]
    claimed.claims.add("cpu")
    assert op(torch.ones(3)).tolist() == [2.0] * 3
    assert op.serving_target == BUILTIN


def test_a_call_that_fails_its_checks_fixes_nothing(claimed):
    """The checks of the signature come before the target, and no detector is asked."""
    asked = []
    claimed.register_detector("zeta", asked.append)
    claimed.register_kernel_builder("ProbeFwdOp", "acme", Builder())
    op = probe_op(claimed)()
    with pytest.raises(SignatureError, match="x must have dtype"):
        op(torch.ones(2, dtype=torch.float64))
    assert op.serving_target is None
    assert asked == []


class Unusable:
    """Kernels that fail in one way."""

    @staticmethod
    def raising(x, bias, **keywords):
        raise FloatingPointError("launch failed")

    @staticmethod
    def wrong_shape(x, bias, **keywords):
        return x[:1]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_builder_that_raises_on_the_fixing_call(claimed, error):
    """Its error is the caller's, unchanged; the next call fixes again, to another target even."""
    raised = error("no compiler")
    builder = Builder(failures=[raised])
    claimed.register_kernel_builder("ProbeFwdOp", "acme", builder)
    op = probe_op(claimed)()
    with pytest.raises(error) as caught:
        op(X)
    assert caught.value is raised
    assert op.serving_target is None
    assert op.kernel_config() == ()
    claimed.claims.clear()
    assert op(X).tolist() == [2.0, 2.0]
    assert op.serving_target == BUILTIN


def test_the_next_call_builds_again(claimed):
    """Nothing is kept of a build that failed."""
    builder = Builder(failures=[OSError("once"), OSError("twice")])
    claimed.register_kernel_builder("ProbeFwdOp", "acme", builder)
    op = probe_op(claimed)()
    for text in ("once", "twice"):
        with pytest.raises(OSError, match=text):
            op(X)
    assert op(X).tolist() == [102.0, 102.0]
    assert len(builder.built) == 3


@pytest.mark.parametrize(
    ("kernel", "error", "text"),
    [
        pytest.param(None, TargetKernelError, "target 'acme' returned None", id="none"),
        pytest.param(7, TargetKernelError, "returned 7", id="a-number"),
        pytest.param(Unusable.raising, FloatingPointError, "launch failed", id="launch-fails"),
        pytest.param(Unusable.wrong_shape, ResultError, "y returned by target acme", id="result"),
    ],
)
def test_a_fixing_call_that_fails_after_its_build(claimed, kernel, error, text):
    """The choice and what was built are undone, so the next call may be served elsewhere."""
    claimed.register_kernel_builder("ProbeFwdOp", "acme", lambda x, bias, **params: kernel)
    op = probe_op(claimed)()
    with pytest.raises(error, match=text):
        op(X)
    assert op.serving_target is None
    assert op.kernel_config() == ()
    claimed.claims.clear()
    assert op(X).tolist() == [2.0, 2.0]


def test_a_later_call_that_fails_leaves_the_target(claimed):
    """Only the call that fixes the target can undo it."""
    builder = Builder()
    claimed.register_kernel_builder("ProbeFwdOp", "acme", builder)
    op = probe_op(claimed)()
    op(X)
    builder.failures.append(OSError("no memory"))
    with pytest.raises(OSError, match="no memory"):
        op(torch.ones(3))
    claimed.claims.clear()
    assert op.serving_target == "acme"
    assert op(X).tolist() == [102.0, 102.0]
    assert op(torch.ones(3)).tolist() == [102.0] * 3


def test_an_in_tree_fixing_call_that_fails_is_undone(claimed):
    """The next call may be served by a target; an entry that was built stays an entry."""

    class FailingOnce(ProbeKernel):
        failures = [FloatingPointError("launch failed")]

        def forward(self, x, bias, *, out=None, splits=None):
            if self.failures:
                raise self.failures.pop()
            return super().forward(x, bias, out=out, splits=splits)

    claimed.claims.clear()
    claimed.register_kernel_builder("ProbeFwdOp", "acme", Builder())
    op = type("ProbeFwdOp", (probe_op(claimed),), {"kernel_types": {"probe": FailingOnce}})()
    with pytest.raises(FloatingPointError):
        op(X)
    assert op.serving_target is None
    assert len(list(op.iter_kernels())) == 1
    claimed.claims.add("cpu")
    assert op(X).tolist() == [102.0, 102.0]


def test_an_unserved_fixing_call_is_undone(claimed):
    """Where no in-tree kernel is selected, the next call may be served by a target."""
    claimed.claims.clear()
    claimed.register_kernel_builder("ProbeFwdOp", "acme", Builder())
    op = probe_op(claimed)()
    with pytest.raises(SelectionError, match="two elements or more, got 1"):
        op(torch.ones(1))
    claimed.claims.add("cpu")
    assert op(torch.ones(1)).tolist() == [102.0]


@pytest.mark.parametrize("target", [None, "acme"])
def test_an_empty_call_runs_nothing_and_fixes_nothing(claimed, target):
    """Neither the target nor an in-tree kernel runs; the outputs are those of the signature."""
    builder = Builder()
    claimed.register_kernel_builder("ProbeFwdOp", "acme", builder)
    op = probe_op(claimed)(target=target)
    for _ in range(2):
        y = op(torch.ones(0, 7, dtype=torch.float16))
        assert (y.shape, y.dtype) == ((0, 7), torch.float16)
    assert builder.built == []
    assert op.serving_target is None
    assert list(op.iter_kernels()) == []


def test_an_empty_call_gives_the_buffer_back(claimed):
    """A buffer of an empty output is the result."""
    claimed.register_kernel_builder("ProbeFwdOp", "acme", Builder())
    out = torch.empty(0, 7)
    assert probe_op(claimed)()(torch.ones(0, 7), out=out) is out


def test_an_empty_call_that_writes_in_place(claimed):
    """Its written input is given back, and a new output is constructed."""
    total = torch.empty(0, 7)
    moved, largest = with_registry(AccumulateFwdOp, claimed)()(total, torch.empty(0, 7))
    assert moved is total
    assert largest.shape == (0,)


def test_a_call_with_one_written_tensor_that_is_not_empty_runs(registry):
    """Only a call whose written tensors are all empty runs nothing."""
    registry.register_kernel_builder(
        "AccumulateFwdOp", "acme", lambda total, x: lambda total, x: torch.full((3,), 5.0)
    )
    op = with_registry(AccumulateFwdOp, registry)(target="acme")
    _, largest = op(torch.empty(3, 0), torch.empty(3, 0))
    assert largest.tolist() == [5.0] * 3
    assert op.serving_target == "acme"


def test_an_empty_call_of_an_unknown_target_raises(claimed):
    """A name that no backend registered is no answer, whatever the shapes."""
    op = probe_op(claimed)(target="acne")
    for _ in range(2):
        with pytest.raises(UnknownTargetError, match="acne"):
            op(torch.ones(0, 7))


def test_an_empty_call_reads_the_default_until_the_target_is_fixed(claimed):
    """A default that names nothing raises in a repeated call too, but not once it is fixed."""
    claimed.register_kernel_builder("ProbeFwdOp", "acme", Builder())
    op = probe_op(claimed)()
    op(torch.ones(0, 7))
    claimed.set_default_target("acne")
    with pytest.raises(UnknownTargetError, match="process default"):
        op(torch.ones(0, 7))
    claimed.set_default_target(None)
    op(X)
    claimed.set_default_target("acne")
    assert op(torch.ones(0, 7)).shape == (0, 7)
    assert op(torch.ones(0, 9)).shape == (0, 9)
