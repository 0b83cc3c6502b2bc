"""What an assertion about a selection says when it fails."""

import pytest

from scale_family import OtherCall
from testing.toy import ToyCall, ToyFwdOp
from tileops.errors import CallSpecTypeError, ImpossibleCallError, UnknownInterfaceError
from tileops.kernels.norm.call_spec import LayerNormCall
from tileops.ops.norm.layer_norm import LayerNormFwdOp
from tileops.testing import assert_selects


def failure(*arguments):
    with pytest.raises(AssertionError) as caught:
        assert_selects(*arguments)
    return str(caught.value)


@pytest.mark.parametrize("op", [ToyFwdOp, ToyFwdOp()], ids=["class", "instance"])
def test_what_holds(op):
    """A key that is selected, and no key where none is, pass."""
    assert_selects(op, "toy", ToyCall(device="cpu", n=256), "short")
    assert_selects(op, "toy", ToyCall(device="cpu", n=257), "general")
    assert_selects(op, "toy", ToyCall(arch=90), None)


@pytest.mark.parametrize("op", [ToyFwdOp, ToyFwdOp()], ids=["class", "instance"])
def test_another_key_is_selected(op):
    """The message explains the call and names the nearest call that selects the key."""
    message = failure(op, "toy", ToyCall(device="cpu", n=300), "short")
    lines = message.splitlines()
    assert lines[:3] == [
        "this call of ToyFwdOp.toy selects 'general', not 'short'",
        "nearest call that selects 'short': n 256 instead of 300",
        "",
    ]
    explained = [" ".join(line.split()) for line in lines[3:]]
    assert "selected general the general implementation, on cpu" in explained
    assert "x short refused serves n <= 256, got 300" in explained
    assert explained[-1].startswith("tileops explain ToyFwdOp --interface toy --import testing.toy")


def test_stated_device_facts_are_kept():
    """The explanation is about the device that the call states."""
    message = failure(LayerNormFwdOp, "layer_norm", LayerNormCall(arch=100, n=8), "layer_norm")
    assert message.startswith(
        "this call of LayerNormFwdOp.layer_norm is unserved, not 'layer_norm'"
    )
    assert "supports arch 80, 86, 89, 90, got 100" in message
    assert "nearest call that selects 'layer_norm': on " in message


def test_no_key_was_wanted():
    """Where a key is selected and none was wanted, the message says which."""
    message = failure(ToyFwdOp, "toy", ToyCall(device="cpu"), None)
    assert message.startswith("this call of ToyFwdOp.toy selects 'short', not no key")


def test_a_key_that_does_not_exist():
    """A misspelt key is no selection to be found: the keys are listed."""
    message = failure(ToyFwdOp, "toy", ToyCall(device="cpu"), "shrot")
    assert "there is no such key; the interface has general, short" in message
    with pytest.raises(AssertionError):
        assert_selects(ToyFwdOp, "toy", ToyCall(arch=90), "shrot")


@pytest.mark.parametrize("op", [ToyFwdOp, ToyFwdOp()], ids=["class", "instance"])
def test_questions_that_cannot_be_asked(op):
    """A wrong interface or call spec is an error, never a failed assertion."""
    with pytest.raises(UnknownInterfaceError, match="'tyo'; it has toy"):
        assert_selects(op, "tyo", ToyCall(device="cpu"), "short")
    with pytest.raises(UnknownInterfaceError, match="it has toy"):
        assert_selects(op, ["toy"], ToyCall(device="cpu"), "short")
    with pytest.raises(CallSpecTypeError, match="takes a ToyCall call spec, got OtherCall"):
        assert_selects(op, "toy", OtherCall(device="cpu"), "short")


IMPOSSIBLE = [
    pytest.param({"n": 0, "arch": 90}, "n must be at least 1, got 0", id="no-row"),
    pytest.param({"n": "8", "arch": 90}, "n must be an int, got '8'", id="text"),
    pytest.param({"n": 8, "arch": "90"}, "arch must be an int of 1 or more", id="device-fact"),
]


@pytest.mark.parametrize("op", [LayerNormFwdOp, LayerNormFwdOp(8)], ids=["class", "instance"])
@pytest.mark.parametrize("key", ["layer_norm", None])
@pytest.mark.parametrize(("facts", "why"), IMPOSSIBLE)
def test_calls_that_no_op_makes(op, key, facts, why):
    """They select nothing, which is not to be asserted of them either."""
    with pytest.raises(ImpossibleCallError, match=why):
        assert_selects(op, "layer_norm", LayerNormCall(**facts), key)
