"""Tuned mode of an op that a target serves: the optional members request_tune and config."""

from __future__ import annotations

import pytest
import torch
from probe import Builder, probe_op

X, Y = torch.ones(2), torch.ones(3)


class TunableTarget:
    """A target's kernel with both optional members."""

    def __init__(self, failures=()):
        self.config = "default"
        self.events = []
        self.failures = list(failures)

    def request_tune(self):
        if self.failures:
            raise self.failures.pop(0)
        self.events.append("tune")
        self.config = "tuned"

    def __call__(self, x, bias):
        self.events.append("launch")
        return x + 1


@pytest.fixture
def target(registry):
    """An op served by a target, and the kernels it has built."""
    built = []

    def build(x, bias, **params):
        built.append(TunableTarget())
        return built[-1]

    registry.register_kernel_builder("ProbeFwdOp", "acme", build)
    return probe_op(registry)(target="acme"), built


def test_without_a_request_nothing_is_tuned(target):
    """A call runs the configuration a kernel was built with."""
    op, built = target
    op(X)
    assert op.kernel_config() == ("default",)
    assert built[0].events == ["launch"]


def test_kernels_built_already_are_tuned_at_once(target):
    """The request tunes what is there."""
    op, built = target
    op(X)
    op(Y)
    op.request_tune()
    assert op.kernel_config() == ("tuned", "tuned")
    assert [one.events for one in built] == [["launch", "tune"]] * 2


def test_later_kernels_are_tuned_before_their_first_launch(target):
    """The mode of the op holds for every kernel it builds from then on."""
    op, built = target
    op.request_tune()
    op(X)
    op(Y)
    assert [one.events for one in built] == [["tune", "launch"]] * 2


def test_tuning_is_idempotent(target):
    """A kernel is tuned once, however often it is asked for."""
    op, built = target
    op(X)
    for _ in range(2):
        op.request_tune()
        op(X)
    assert built[0].events == ["launch", "tune", "launch", "launch"]


def test_tuning_moves_no_call_to_another_target(target):
    """The op keeps its target and its kernels."""
    op, built = target
    op(X)
    op.request_tune()
    op(X)
    assert op.serving_target == "acme"
    assert len(built) == 1


def test_kernels_without_the_optional_members(registry):
    """A target's plain function is not tuned, and its configuration is None."""
    registry.register_kernel_builder("ProbeFwdOp", "acme", Builder())
    op = probe_op(registry)(target="acme")
    op.request_tune()
    assert op(X).tolist() == [102.0, 102.0]
    assert op.kernel_config() == (None,)


def test_a_tuner_that_raises_leaves_the_op_usable(registry):
    """Its error reaches who asked; the kernel still runs, and the next request tries again."""
    kernel = TunableTarget(failures=[RuntimeError("no memory")])
    registry.register_kernel_builder("ProbeFwdOp", "acme", lambda x, bias, **params: kernel)
    op = probe_op(registry)(target="acme")
    op(X)
    with pytest.raises(RuntimeError, match="no memory"):
        op.request_tune()
    assert op(X).tolist() == [2.0, 2.0]
    assert op.kernel_config() == ("default",)
    op.request_tune()
    assert op.kernel_config() == ("tuned",)


def test_a_tuner_that_raises_on_the_fixing_call(registry):
    """The call fails and is undone; the next one builds and tunes anew."""
    failures = [RuntimeError("no memory")]
    built = []

    def build(x, bias, **params):
        built.append(TunableTarget(failures))
        failures.clear()
        return built[-1]

    registry.register_kernel_builder("ProbeFwdOp", "acme", build)
    op = probe_op(registry)(target="acme")
    op.request_tune()
    with pytest.raises(RuntimeError, match="no memory"):
        op(X)
    assert op.serving_target is None
    assert op(X).tolist() == [2.0, 2.0]
    assert [one.events for one in built] == [[], ["tune", "launch"]]


def test_one_failing_tuner_does_not_spare_the_others(registry):
    """Every kernel has its turn, and kernels built later are tuned too."""
    kernels = [TunableTarget([RuntimeError("first")]), TunableTarget(), TunableTarget()]
    left = list(kernels)
    registry.register_kernel_builder("ProbeFwdOp", "acme", lambda x, bias, **params: left.pop(0))
    op = probe_op(registry)(target="acme")
    op(X)
    op(Y)
    with pytest.raises(RuntimeError, match="first"):
        op.request_tune()
    op(torch.ones(4))
    assert op.kernel_config() == ("default", "tuned", "tuned")


def test_the_mode_outlives_an_undone_choice(registry):
    """A request holds for the kernels of whichever call fixes the target in the end."""
    kernel = TunableTarget()
    outcomes = [OSError("no compiler"), kernel]

    def build(x, bias, **params):
        made = outcomes.pop(0)
        if isinstance(made, Exception):
            raise made
        return made

    registry.register_kernel_builder("ProbeFwdOp", "acme", build)
    op = probe_op(registry)(target="acme")
    op.request_tune()
    with pytest.raises(OSError, match="no compiler"):
        op(X)
    op(X)
    assert kernel.events == ["tune", "launch"]
