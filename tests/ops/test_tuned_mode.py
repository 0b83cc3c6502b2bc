"""Tuned mode: every kernel is tuned once, before its first launch, and nothing else changes."""

import pytest
import torch
import torch.nn.functional as F
from noting import in_threads, noting, op_with, spec

from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.call_spec import LayerNormFwdInterface


def test_request_tune_reaches_built_and_later_kernels():
    """Existing kernels are tuned at once, later ones before their first launch, each once."""
    kernel_type, noted = noting()
    op = op_with(a=kernel_type)
    op.kernel_for("layer_norm", spec(n=16))
    op.kernel_for("layer_norm", spec(n=32))
    assert noted.tuned == []
    op.request_tune()
    assert noted.tuned == [16, 32]
    op(torch.randn(2, 8))
    assert noted.tuned == [16, 32, 8]
    assert op.kernel_config() == ("tuned", "tuned", "tuned")


def test_a_later_kernel_is_tuned_before_its_first_launch():
    """In tuned mode no call runs an untuned configuration."""
    kernel_type, noted = noting()
    seen = []
    kernel_type.forward = lambda self, x, weight, bias: seen.append(self.config) or x.clone()
    op = op_with(a=kernel_type)
    op.request_tune()
    op(torch.randn(2, 8))
    assert seen == ["tuned"]
    assert noted.tuned == [8]


def test_request_tune_is_idempotent():
    """Asking again, and calling again, tunes nothing twice."""
    kernel_type, noted = noting()
    op = op_with(a=kernel_type)
    for _ in range(3):
        op.request_tune()
        op(torch.randn(2, 8))
        op.kernel_for("layer_norm", spec(eps=1e-3))
    assert noted.tuned == [8]


def test_threads_tune_once():
    """Requests and calls from many threads tune a kernel once."""
    kernel_type, noted = noting(delay=0.02)
    op = op_with(a=kernel_type)

    def act():
        op.request_tune()
        return op.kernel_for("layer_norm", spec())

    _, errors = in_threads(8, act)
    assert errors == []
    assert (noted.built, noted.tuned) == ([8], [8])


class UntunableKernel(Kernel, LayerNormFwdInterface):
    devices = frozenset({"cpu"})

    def forward(self, x, weight, bias):
        return x.clone()


def test_kernel_without_tuning_candidates():
    """A kernel that has nothing to tune ignores the request."""
    op = op_with(a=UntunableKernel)
    op(torch.randn(2, 8))
    op.request_tune()
    op(torch.randn(2, 8, dtype=torch.float16))
    assert op.kernel_config() == (None, None)


def test_tuning_changes_neither_selection_nor_entries():
    """The same key and the same kernel serve a call before and after."""
    narrow, _ = noting(name="Narrow")
    wide, _ = noting(name="Wide")
    narrow.preferred_over = frozenset({"wide"})
    op = op_with(narrow=narrow, wide=wide)
    before, kernel = op.explain("layer_norm", spec()), op.kernel_for("layer_norm", spec())
    entries = list(op.iter_kernels())
    op.request_tune()
    assert op.explain("layer_norm", spec()) == before
    assert op.kernel_for("layer_norm", spec()) is kernel
    assert list(op.iter_kernels()) == entries


def test_failing_tuner_of_a_built_kernel():
    """Who asked gets the error, the others are tuned, calls go on, the next request retries."""
    kernel_type, noted = noting()
    op, x = op_with(a=kernel_type), torch.randn(2, 8)
    op(x)
    op.kernel_for("layer_norm", spec(n=16))
    noted.tuner_fails = 1
    with pytest.raises(ArithmeticError, match="the tuner failed"):
        op.request_tune()
    assert noted.tuned == [16]
    torch.testing.assert_close(op(x), F.layer_norm(x, (8,)))
    op.request_tune()
    assert noted.tuned == [16, 8]
    assert noted.built == [8, 16]


def test_several_failing_tuners():
    """Every failure is reported."""
    kernel_type, noted = noting()
    op = op_with(a=kernel_type)
    for n in (8, 16, 32):
        op.kernel_for("layer_norm", spec(n=n))
    noted.tuner_fails = 2
    with pytest.raises(ExceptionGroup) as caught:
        op.request_tune()
    assert [type(error) for error in caught.value.exceptions] == [ArithmeticError] * 2
    assert noted.tuned == [32]


@pytest.mark.parametrize("ask", ["tensors", "kernel_for"])
def test_failing_tuner_of_a_later_kernel(ask):
    """The call that would launch it fails; the next one tunes again, without another build."""
    kernel_type, noted = noting()
    op, x = op_with(a=kernel_type), torch.randn(2, 8)
    act = (lambda: op(x)) if ask == "tensors" else (lambda: op.kernel_for("layer_norm", spec()))
    op.request_tune()
    noted.tuner_fails = 2
    for _ in range(2):
        with pytest.raises(ArithmeticError, match="the tuner failed"):
            act()
    act()
    assert (noted.built, noted.tuned) == ([8], [8])
    torch.testing.assert_close(op(x), F.layer_norm(x, (8,)))


def test_a_tuner_that_calls_its_op():
    """It finds the kernel that it tunes, and is not asked again meanwhile."""
    kernel_type, noted = noting()
    op, tune = op_with(a=kernel_type), kernel_type.request_tune

    def request_tune(self):
        op(torch.ones(2, 8))
        tune(self)

    kernel_type.request_tune = request_tune
    op.request_tune()
    op(torch.ones(2, 8))
    assert (noted.built, noted.tuned) == ([8], [8])
