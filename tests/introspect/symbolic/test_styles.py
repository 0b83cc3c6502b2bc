"""Refusals as people write them become formulas, or are honestly not proved."""

from __future__ import annotations

from functools import cache

import pytest
from refusals import MODELLED, OPAQUE, TileCall

from tileops.introspect.calls import sample_calls
from tileops.introspect.formula import FALSE, evaluate
from tileops.introspect.symbolic.exploration import Explored, explore
from tileops.introspect.validation import validate
from tileops.kernels.kernel import Kernel
from tileops.selection import Candidate, SelectionTable

CALLS = 300


@cache
def explored(kernel: type[Kernel]) -> Explored:
    table = SelectionTable("TileFwdOp", "tile", [Candidate("tile", kernel)])
    return explore(table, TileCall)


@pytest.mark.parametrize("style", MODELLED)
def test_a_modelled_refusal_serves_the_calls_that_it_means(style: str) -> None:
    """The formula agrees with an independent statement of the served calls, and with the code."""
    kernel, serves = MODELLED[style]
    found = explored(kernel)
    model = found.model.implementation("tile")

    assert model.unmodelled == ()
    assert model.raises == FALSE
    wrong = [
        found.form.call(values).describe()
        for values in sample_calls(found.model, CALLS)
        if evaluate(model.serves, values) != bool(serves(found.form.call(values)))
    ]
    assert wrong == []
    assert validate(found, CALLS, seed=1).disagreements == ()


@pytest.mark.parametrize("style", OPAQUE)
def test_what_is_not_modelled_is_said_with_its_line(style: str) -> None:
    """The implementation may apply where its code is not understood; the reason names the line."""
    kernel, fragment = OPAQUE[style]
    model = explored(kernel).model.implementation("tile")

    assert model.unknown != FALSE
    assert fragment in str(model.unmodelled[0])
    assert "refusals.py:" in model.unmodelled[0].where


@pytest.mark.parametrize("style", MODELLED)
def test_the_classes_are_left_as_they_are(style: str) -> None:
    """Exploring a class changes neither it nor its module."""
    kernel, _ = MODELLED[style]
    before = dict(vars(kernel)), dict(vars(TileCall)), set(kernel.refusal.__func__.__globals__)
    explored(kernel)

    assert (dict(vars(kernel)), dict(vars(TileCall))) == before[:2]
    assert set(kernel.refusal.__func__.__globals__) == before[2]
