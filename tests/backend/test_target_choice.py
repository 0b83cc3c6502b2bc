"""Which target serves an op: the argument, the process default, the detectors, else in-tree."""

from __future__ import annotations

import pytest
import torch
from probe import Builder, TwiceFwdOp, probe_op, with_registry

from tileops.backend import BUILTIN
from tileops.errors import (
    AmbiguousTargetError,
    ArgumentTypeError,
    BackendError,
    OpNotAvailableError,
    TargetWithoutBuilderError,
    UnknownTargetError,
)

X = torch.ones(2)
IN_TREE, ACME, ZETA = [2.0, 2.0], [102.0, 102.0], [202.0, 202.0]


@pytest.fixture
def targets(registry):
    """Two targets with a builder; both claim the devices they are told to."""
    claims = {"acme": set(), "zeta": set()}
    for target, shift in (("acme", 100), ("zeta", 200)):
        registry.register_kernel_builder("ProbeFwdOp", target, Builder(shift))
        registry.register_detector(
            target, lambda device, devices=claims[target]: device.type in devices
        )
    registry.claims = claims
    return registry


@pytest.mark.parametrize(
    ("argument", "default", "claiming", "answer", "serving"),
    [
        pytest.param(None, None, (), IN_TREE, BUILTIN, id="nobody-claims-it"),
        pytest.param(None, None, ("acme",), ACME, "acme", id="a-detector"),
        pytest.param(None, None, ("zeta",), ZETA, "zeta", id="the-other-detector"),
        pytest.param(None, "zeta", ("acme",), ZETA, "zeta", id="default-before-detectors"),
        pytest.param("acme", "zeta", ("zeta",), ACME, "acme", id="argument-before-all"),
        pytest.param("acme", None, (), ACME, "acme", id="argument-alone"),
        pytest.param(None, "acme", ("acme", "zeta"), ACME, "acme", id="default-settles-a-tie"),
        pytest.param("zeta", None, ("acme", "zeta"), ZETA, "zeta", id="argument-settles-a-tie"),
        pytest.param(BUILTIN, "acme", ("zeta",), IN_TREE, BUILTIN, id="builtin-argument"),
        pytest.param(None, BUILTIN, ("acme",), IN_TREE, BUILTIN, id="builtin-default"),
        pytest.param("acme", BUILTIN, (), ACME, "acme", id="argument-before-builtin-default"),
    ],
)
def test_precedence(targets, argument, default, claiming, answer, serving):
    """The argument comes first, then the process default, then the detectors."""
    targets.set_default_target(default)
    for target in claiming:
        targets.claims[target].add("cpu")
    op = probe_op(targets)(target=argument)
    assert op.serving_target is None
    assert op(X).tolist() == answer
    assert op.serving_target == serving


@pytest.mark.parametrize("target", ["", 3, True, ["acme"], torch.device("cpu")])
def test_a_target_that_is_no_name(targets, target):
    """It is refused where it is passed, not by the first call."""
    with pytest.raises(ArgumentTypeError, match="target must be the name of a target, or None"):
        probe_op(targets)(target=target)


def test_detectors_are_asked_about_the_device_of_the_call(registry):
    """Each detector inspects the call's device, and all are asked."""
    asked = []
    for target in ("b", "a"):
        registry.register_detector(target, lambda device, t=target: asked.append((t, device)))
    assert probe_op(registry)()(X).tolist() == IN_TREE
    assert sorted(asked) == [("a", torch.device("cpu")), ("b", torch.device("cpu"))]


def test_no_detector_is_asked_where_a_name_decides(registry):
    """A named target needs no detector, and another's fault does not matter."""

    def raises(device):
        raise OSError("no driver")

    registry.register_detector("broken", raises)
    registry.register_kernel_builder("ProbeFwdOp", "acme", Builder())
    assert probe_op(registry)(target="acme")(X).tolist() == ACME
    assert probe_op(registry)(target=BUILTIN)(X).tolist() == IN_TREE


def test_two_targets_that_claim_one_device(targets):
    """The call is ambiguous; naming one, or taking the device away from one, settles it."""
    for devices in targets.claims.values():
        devices.add("cpu")
    op = probe_op(targets)()
    with pytest.raises(AmbiguousTargetError, match="targets acme, zeta all claim cpu") as caught:
        op(X)
    assert "target=" in str(caught.value)
    assert op.serving_target is None
    targets.claims["zeta"].clear()
    assert op(X).tolist() == ACME


def test_a_detector_that_raises(site):
    """It is a BackendError that names the target and its distribution and chains the cause."""
    site.install(
        "acme",
        "def detect(device):\n    raise OSError('no driver')\nregister_detector('acme', detect)",
    )
    op = probe_op(site.registry)()
    with pytest.raises(BackendError, match=r"detector of target 'acme' \(acme 1.0\)") as caught:
        op(X)
    assert "OSError('no driver') for cpu" in str(caught.value)
    assert isinstance(caught.value.__cause__, OSError)
    assert op.serving_target is None
    assert probe_op(site.registry)(target=BUILTIN)(X).tolist() == IN_TREE


def test_a_detector_whose_exception_cannot_be_written(registry):
    """The target is named all the same."""

    class MuteError(Exception):
        def __repr__(self):
            raise ZeroDivisionError

    def detect(device):
        raise MuteError

    registry.register_detector("acme", detect)
    op = probe_op(registry)()
    message = "target 'acme' .* raised <.*MuteError, whose repr raises ZeroDivisionError> for cpu"
    with pytest.raises(BackendError, match=message):
        op(X)


@pytest.mark.parametrize("how", ["argument", "default"])
def test_an_unknown_target(targets, how):
    """It is refused at the call, naming where it came from and which targets there are."""
    if how == "default":
        targets.set_default_target("acne")
    op = probe_op(targets)(target="acne" if how == "argument" else None)
    source = "target=" if how == "argument" else "the process default"
    with pytest.raises(UnknownTargetError, match=rf"'acne' \({source}\).*: acme, zeta"):
        op(X)
    assert op.serving_target is None


def test_an_unknown_target_of_a_backend_that_failed(site):
    """The error names the backends that failed to load, one of which may be the one missed."""
    site.install("acme", "register_detector('acme', lambda device: True)\nraise OSError('x')")
    with pytest.warns(RuntimeWarning):
        op = probe_op(site.registry)(target="acme")
    with pytest.raises(UnknownTargetError, match=r"targets: none.*failed to load: acme"):
        op(X)


@pytest.mark.parametrize("how", ["argument", "default", "detector"])
def test_a_target_without_a_builder(registry, how):
    """An op with kernels of its own does not fall back to them."""
    registry.register_detector("bare", lambda device: how == "detector")
    registry.register_kernel_builder("ProbeFwdOp", "acme", Builder())
    registry.register_kernel_builder("TwiceFwdOp", "other", Builder())
    registry.set_default_target("bare" if how == "default" else None)
    op = probe_op(registry)(target="bare" if how == "argument" else None)
    with pytest.raises(OpNotAvailableError, match=r"no builder for this op.*have one: acme") as hit:
        op(X)
    assert type(hit.value) is TargetWithoutBuilderError
    assert op.serving_target is None


@pytest.mark.parametrize(
    ("own", "answer", "parts"),
    [
        pytest.param(False, [204.0 + 100, 204.0 + 100], ("acme", "acme"), id="falls-through"),
        pytest.param(True, [7.0, 7.0], (None, None), id="serves-it-whole"),
    ],
)
def test_a_composite_op(registry, own, answer, parts):
    """An op without kernels leaves the target to its parts, unless the target has a builder."""
    registry.register_kernel_builder("ProbeFwdOp", "acme", Builder())
    if own:
        registry.register_kernel_builder("TwiceFwdOp", "acme", lambda x: lambda x: x + 6)
    op = with_registry(TwiceFwdOp, registry)(target="acme")
    assert op(X).tolist() == answer
    assert tuple(one.serving_target for one in op.parts) == parts
    assert op.serving_target == ("acme" if own else None)


def test_a_composite_op_in_tree(registry):
    """Without targets its parts run in-tree."""
    op = with_registry(TwiceFwdOp, registry)()
    assert op(X).tolist() == [4.0, 4.0]
    assert op.serving_target is None
    assert [one.serving_target for one in op.parts] == [BUILTIN, BUILTIN]


def test_a_default_target_reaches_ops_constructed_before(targets):
    """The default is read when the target is fixed; None returns the choice to the detectors."""
    first, second = probe_op(targets)(), probe_op(targets)()
    targets.set_default_target("zeta")
    assert first(X).tolist() == ZETA
    targets.set_default_target(None)
    assert second(X).tolist() == IN_TREE
