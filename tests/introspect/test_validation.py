"""Formulas are compared with code, and a wrong formula is caught."""

from __future__ import annotations

from dataclasses import replace

import pytest
from specified import LAYER_NORM, GemmCall, RaisingGemm, TiledGemm, explored

from tileops.introspect.calls import interesting_values, sample_calls
from tileops.introspect.collection import explore_op
from tileops.introspect.formula import TRUE, Term, compare, const, evaluate, fact, member
from tileops.introspect.validation import validate
from tileops.kernels.norm.call_spec import LayerNormCall
from tileops.ops.catalogue import in_tree_ops

IN_TREE = [
    pytest.param(op, name, id=f"{op.__name__}-{name}")
    for op in in_tree_ops().values()
    for name in op.interfaces
]


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(compare("lt", fact("n"), const(256)), id="off-by-one"),
        pytest.param(compare("le", fact("n"), const(257)), id="one-too-many"),
        pytest.param(TRUE, id="no-condition"),
        pytest.param(member("dtype", ["float16"]), id="another-fact"),
    ],
)
def test_a_wrong_formula_is_caught(wrong: Term) -> None:
    """A formula that differs from the code in a single call is caught at that boundary."""
    found = explored(LayerNormCall, **LAYER_NORM)
    layer_norm, short = found.model.implementations
    model = replace(found.model, implementations=(layer_norm, replace(short, serves=wrong)))
    caught = validate(replace(found, model=model), 2000).disagreements

    assert {one.subject for one in caught} >= {"torch_short_rows"}


def test_a_refusal_that_raises_is_modelled_too() -> None:
    """Where the formula says that the refusal raises, it does, and nowhere else."""
    found = explored(GemmCall, tiled=TiledGemm, tall=RaisingGemm)

    assert validate(found, 3000).disagreements == ()
    raising = [v for v in sample_calls(found.model, 3000) if v["k"] == 0]
    assert raising
    assert all(evaluate(found.model.implementation("tall").raises, v) for v in raising)


def test_boundaries_are_among_the_calls() -> None:
    """The constants of the formulas are tried with both neighbours; so are bounds and defaults."""
    found = explored(LayerNormCall, **LAYER_NORM)
    n = set(interesting_values(found.model)["n"])

    assert {1, 255, 256, 257, 2**31 - 1} <= n
    assert not n & {0, 2**31}


def test_calls_repeat_for_equal_seeds() -> None:
    """Sampling is a function of its arguments."""
    model = explored(LayerNormCall, **LAYER_NORM).model
    first = list(sample_calls(model, 50, seed=1))

    assert list(sample_calls(model, 50, seed=1)) == first
    assert list(sample_calls(model, 50, seed=2)) != first


@pytest.mark.parametrize(("op", "interface"), IN_TREE)
def test_the_tree_is_modelled_whole(op: type, interface: str) -> None:
    """No refusal of the tree does what no formula says, and formulas agree with the code."""
    found = explore_op(op)[interface]

    assert [str(r) for one in found.model.implementations for r in one.unmodelled] == []
    assert found.model.domain.unmodelled is None
    assert validate(found, 500).disagreements == ()


@pytest.mark.slow
@pytest.mark.parametrize(("op", "interface"), IN_TREE)
def test_the_tree_agrees_on_a_hundred_thousand_calls(op: type, interface: str) -> None:
    """Formulas and code of the tree do not disagree on any of many calls."""
    assert validate(explore_op(op)[interface], 100_000, seed=5).disagreements == ()


@pytest.mark.slow
@pytest.mark.parametrize(("op", "interface"), IN_TREE)
def test_formulas_agree_on_a_hundred_thousand_calls(op: type, interface: str) -> None:
    """Random calls and those at boundaries are decided by the code as by the formulas."""
    assert validate(explore_op(op)[interface], 100_000, seed=7).disagreements == ()
