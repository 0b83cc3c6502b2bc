"""Explaining a call from tensors or their descriptions in Python."""

from __future__ import annotations

import pytest
import torch

from tileops import LayerNormFwdOp
from tileops.errors import (
    MissingInputError,
    MissingSignatureError,
    ShapeMismatchError,
    UnknownArgumentError,
)
from tileops.kernels.norm.call_spec import LayerNormCall
from tileops.ops.op import Op
from tileops.selection import Outcome
from tileops.tensor_spec import TensorSpec

HALF = torch.float16


def rows(*shape, device="cuda"):
    """Describe a half-precision tensor."""
    return TensorSpec(shape, HALF, device)


@pytest.mark.parametrize(
    ("arch", "key"),
    [pytest.param(90, "layer_norm", id="served"), pytest.param(100, None, id="unserved")],
)
def test_stated_facts_stand_for_a_device(arch, key):
    """A call on another machine is explained from descriptions, and the call is in the answer."""
    (selection,) = LayerNormFwdOp((256,)).explain_call(rows(32, 256), rows(256), arch=arch)

    selected = selection.selected
    assert (None if selected is None else selected.key) == key
    assert selection.table.interface == "layer_norm"
    assert selection.call.facts() == {"n": 256, "eps": 1e-5, "dtype": HALF}
    assert selection.call.stated_facts() == {"arch": arch}


def test_tensors_are_explained_where_they_are():
    """A tensor of this machine is asked about its own device, which no kernel runs on."""
    (selection,) = LayerNormFwdOp((8,)).explain_call(torch.zeros(2, 8))

    assert selection.outcome is Outcome.NO_DEVICE
    assert selection.call.device_type == "cpu"


def test_a_call_that_writes_nothing_has_no_selection():
    """No kernel would run."""
    op = LayerNormFwdOp((8,))

    assert op.explain_call(torch.zeros(0, 8)) == ()
    assert op.checked_requests(rows(0, 8)) == ()


def test_requests_are_those_of_a_checked_call():
    """Inputs left out at the end are absent, and strides do not matter."""
    x = TensorSpec((4, 8), HALF, "cuda:1", (1, 4))

    ((interface, call),) = LayerNormFwdOp((8,)).checked_requests(x)

    assert interface == "layer_norm"
    assert call == LayerNormCall(device="cuda:1", n=8, eps=1e-5, dtype=HALF)


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        pytest.param((rows(4, 9),), ShapeMismatchError, id="shape"),
        pytest.param((), MissingInputError, id="missing"),
    ],
)
def test_the_checks_of_a_call_come_first(inputs, error):
    """What the op would reject when called is rejected here."""
    with pytest.raises(error):
        LayerNormFwdOp((8,)).explain_call(*inputs, arch=90)


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        pytest.param(
            {"smem": 1},
            "LayerNormFwdOp: smem is no device fact to state, such as arch, sm_count, smem_budget; "
            "did you mean 'smem_budget'?",
            id="near",
        ),
        pytest.param(
            {"arch": 90, "gpu": "h200"},
            "LayerNormFwdOp: gpu is no device fact to state, such as arch, sm_count, smem_budget",
            id="another",
        ),
        pytest.param({"device": "cuda"}, "LayerNormFwdOp: device is no device fact", id="a-field"),
        pytest.param({"eps": 1.0}, "LayerNormFwdOp: eps is no device fact", id="a-fact"),
        pytest.param({"": 1}, "LayerNormFwdOp:  is no device fact", id="empty"),
    ],
)
@pytest.mark.parametrize("count", [4, 0])
def test_a_keyword_that_is_no_device_fact(stated, message, count):
    """The op, the keyword and the facts there are are named, whatever the call writes."""
    with pytest.raises(UnknownArgumentError) as caught:
        LayerNormFwdOp((8,)).explain_call(rows(count, 8), **stated)
    assert message in str(caught.value)
    assert isinstance(caught.value, TypeError)


def test_an_op_without_a_signature_has_no_call_to_explain():
    """It is told as when it is called."""
    with pytest.raises(MissingSignatureError):
        Op().explain_call(rows(8))
