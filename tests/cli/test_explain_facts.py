"""What ``tileops explain`` fills in of the facts that are not given, and what it says they are."""

from __future__ import annotations

import json

import pytest

ATTENTION = ("explain", "GQADenseFwdOp", "--seqlen-kv", "256", "--gpu", "h200")
GATED = ("explain", "GLAFwdOp", "--batch", "1", "--seq-len", "64", "--heads", "4", "--dim-v", "64")


def facts_of(result):
    """Return the facts of the one interface that a JSON answer is about."""
    (interface,) = json.loads(result.out)["interfaces"]
    return {name: fact["value"] for name, fact in interface["facts"].items()}


@pytest.mark.parametrize(
    ("words", "dtype", "is_fp8"),
    [
        pytest.param([], "float16", False, id="neither"),
        pytest.param(["--is-fp8"], "float8_e4m3fn", True, id="flag"),
        pytest.param(["--no-is-fp8"], "float16", False, id="flag-denied"),
        pytest.param(["--dtype", "float8_e4m3fn"], "float8_e4m3fn", True, id="dtype"),
        pytest.param(["--dtype", "bfloat16"], "bfloat16", False, id="other-dtype"),
    ],
)
def test_fp8_need_be_said_only_once(cli, words, dtype, is_fp8):
    """The dtype says whether it is fp8, and fp8 says the dtype."""
    facts = facts_of(cli(*ATTENTION, *words, "--format", "json"))

    assert (facts["dtype"], facts["is_fp8"]) == (dtype, is_fp8)


def test_facts_that_contradict_each_other_are_no_call(cli):
    """What is given is never replaced by what would follow."""
    result = cli(*ATTENTION, "--is-fp8", "--dtype", "float16")

    assert result.code == 2
    assert "is_fp8 must say whether dtype is float8_e4m3fn" in result.err


@pytest.mark.parametrize(
    ("words", "scale"),
    [
        pytest.param(["--dim-k", "64"], 0.125, id="of-the-op"),
        pytest.param(["--dim-k", "64", "--scale", "2"], 2.0, id="stated"),
    ],
)
def test_a_scale_that_is_not_given_is_that_of_the_op(cli, words, scale):
    """An op without a scale takes the reciprocal root of the key's width."""
    facts = facts_of(cli(*GATED, *words, "--gpu", "h200", "--format", "json"))

    assert facts["scale"] == scale


def test_help_says_meaning_range_and_default(cli):
    """A fact's line has its words, its values, and what an absent one comes from."""
    attention = " ".join(cli("explain", "GQADenseFwdOp", "--help").out.split())
    gated = " ".join(cli("explain", "GLAFwdOp", "--help").out.split())

    assert "--dim INT Elements of a head: 1 to 65536 (default 128)" in attention
    assert "No in-tree op asks for it; an op of a backend may (default false)" in attention
    assert "descaling factors (default whether dtype is float8_e4m3fn)" in attention
    assert "--scale FLOAT What the output is multiplied by (default dim_k ** -0.5)" in gated
