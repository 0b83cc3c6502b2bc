"""Integers that Python does not write, since they have thousands of digits."""

from __future__ import annotations

import pytest
import torch

from tileops import BatchNormFwdOp, GemmFwdOp, GQADenseFwdOp, LayerNormFwdOp
from tileops.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ImpossibleCallError,
    NotATensorError,
    UnknownInterfaceError,
)
from tileops.kernels.gemm.call_spec import GemmCall
from tileops.kernels.norm.call_spec import LayerNormCall
from tileops.tensor_spec import TensorSpec

LONG = 10**5000
BITS = "an int of 16610 bits"
ROWS = TensorSpec((4, 8), torch.float16, "cuda")


def key(**facts):
    """Ask for the key of a row norm."""
    return LayerNormFwdOp(8).key_for("layer_norm", LayerNormCall(**{"n": 8, "arch": 90, **facts}))


CASES = [
    pytest.param(lambda n: LayerNormFwdOp(8, eps=n), ArgumentTypeError, "eps must be float, got",
        id="float-parameter"),
    pytest.param(lambda n: GQADenseFwdOp(softcap=n), ArgumentTypeError,
        "softcap must be float | None, got", id="optional-parameter"),
    pytest.param(lambda n: BatchNormFwdOp(training=n), ArgumentTypeError,
        "training must be bool, got", id="bool-parameter"),
    pytest.param(lambda n: GQADenseFwdOp(out_dtype=n), ArgumentTypeError,
        "out_dtype must be dtype | None, got", id="dtype-parameter"),
    pytest.param(LayerNormFwdOp(8), NotATensorError, "input must be a tensor, got",
        id="input"),
    pytest.param(lambda n: LayerNormFwdOp(8).explain(n, LayerNormCall(n=8)),
        UnknownInterfaceError, "LayerNormFwdOp has no kernel interface", id="interface"),
    pytest.param(lambda n: key(n=n), ImpossibleCallError, "n must be an int of 64 bits, got",
        id="fact"),
    pytest.param(lambda n: key(eps=n), ImpossibleCallError, "eps must be a finite number, got",
        id="float-fact"),
    pytest.param(lambda n: key(dtype=n), ImpossibleCallError, "dtype must be a dtype, got",
        id="dtype-fact"),
    pytest.param(lambda n: GemmFwdOp().kernel_for("gemm", GemmCall("cuda", m=8, n=n, k=8)),
        ImpossibleCallError, "n must be an int of 64 bits, got", id="fact-of-a-kernel"),
]  # fmt: skip


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("act", "kind", "message"), CASES)
def test_the_number_of_bits_is_named(act, kind, message, sign):
    """The error says what the value is for, and how long it is."""
    with pytest.raises(kind) as caught:
        act(sign * LONG)
    assert f"{message} {BITS}" in str(caught.value)


@pytest.mark.parametrize(
    ("act", "kind", "message"),
    [
        pytest.param(
            lambda n: LayerNormFwdOp((8, n)),
            ArgumentValueError,
            "normalized_shape must fit 64 bits",
            id="size-parameter",
        ),
        pytest.param(
            lambda n: key(arch=n), ImpossibleCallError, "arch must be an int below 2", id="arch"
        ),
        pytest.param(
            lambda n: LayerNormFwdOp(8).explain_call(ROWS, arch=90, sm_count=n),
            ImpossibleCallError,
            "sm_count must be an int below 2",
            id="stated",
        ),
    ],
)
def test_more_than_64_bits(act, kind, message):
    """No tensor is that large, whether or not the number can be written."""
    for value in (LONG, 2**63):
        with pytest.raises(kind, match=message):
            act(value)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_the_first_number_beyond(value):
    """A number that can be written is."""
    with pytest.raises(ImpossibleCallError, match=f"an int of 64 bits, got {value}"):
        key(n=value)
    with pytest.raises(ImpossibleCallError, match="n must be"):
        key(n=2**63 - 1)


def test_a_call_spec_describes_itself():
    """A call that no op makes can still be written into a message."""
    call = LayerNormCall(n=LONG, arch=90)
    assert call.describe().startswith(f"n {BITS}, eps 1e-05, dtype float16")
    assert call.options()[:2] == ("--n", BITS)
