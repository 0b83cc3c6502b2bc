"""Cases on both sides of every boundary."""

import pytest

from testing.toy import General, Short, ToyCall, ToyFwdInterface, ToyFwdOp
from tileops.ops.norm.layer_norm import LayerNormFwdOp
from tileops.ops.op import Op
from tileops.testing import assert_selects, selection_cases


def test_both_sides_of_every_boundary():
    """The last short width and the next one, and both choices of the mask, each once."""
    (name, cases) = selection_cases(ToyFwdOp).mark.args
    assert name == "case"
    calls = {(one.values[0].call.n, one.values[0].call.causal) for one in cases}
    assert calls == {(256, False), (257, False), (1, False), (1, True)}
    assert len(cases) == len({one.id for one in cases}) == 4
    for one in cases:
        (case,) = one.values
        assert (case.op, case.interface) == (ToyFwdOp, "toy")
        assert case.call.device.type == "cpu"


def test_names_and_neighbours():
    """A case is named by its fact and outcomes, and knows the value on the other side."""
    (_, cases) = selection_cases(ToyFwdOp).mark.args
    named = {one.id: one.values[0] for one in cases}
    assert set(named) == {
        "toy-n-256-short-beside-general",
        "toy-n-257-general-beside-short",
        "toy-causal-false-short-beside-general",
        "toy-causal-true-general-beside-short",
    }
    case = named["toy-n-257-general-beside-short"]
    assert (case.fact, case.beside) == ("n", 256)


@selection_cases(ToyFwdOp, argument="given")
def test_the_decorator(given):
    """A test runs once per case, and states for itself what is to be selected."""
    wanted = "short" if given.call.n <= 256 and not given.call.causal else "general"
    assert_selects(given.op, given.interface, given.call, wanted)


class TwoFwdOp(Op):
    kernel_types = {"general": General, "short": Short}
    interfaces = {"first": ToyFwdInterface, "second": ToyFwdInterface}
    registry = ToyFwdOp.registry


def test_one_interface_or_all():
    """Every interface has its cases unless one is named."""
    (_, every) = selection_cases(TwoFwdOp).mark.args
    (_, one) = selection_cases(TwoFwdOp, interface="second").mark.args
    assert {case.values[0].interface for case in every} == {"first", "second"}
    assert {case.values[0].interface for case in one} == {"second"}
    assert len(every) == 2 * len(one)


def test_an_op_without_boundaries():
    """An interface on which no step of a fact matters has no case."""
    (_, cases) = selection_cases(LayerNormFwdOp).mark.args
    assert list(cases) == []


def test_an_unknown_interface():
    """The error names the interfaces there are."""
    with pytest.raises(ValueError, match="ToyFwdOp has no kernel interface 'tyo'; it has toy"):
        selection_cases(ToyFwdOp, interface="tyo")


def test_calls_outside_the_tests():
    """What the cases say is what an op decides."""
    op = ToyFwdOp()
    assert op.key_for("toy", ToyCall(device="cpu", n=256)) == "short"
    assert op.key_for("toy", ToyCall(device="cpu", n=257)) == "general"
