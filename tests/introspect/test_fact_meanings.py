"""What the facts of call specs mean: read from docstrings, and there for every in-tree op."""

from __future__ import annotations

import dataclasses

import pytest

from tileops.call_spec import CallSpec, facts_declared
from tileops.introspect.fact_meanings import fact_meanings
from tileops.ops.catalogue import in_tree_ops


@dataclasses.dataclass(frozen=True)
class TapCall(CallSpec):
    """The facts of a tap.

    Attributes:
        rate: Litres a minute; ``None`` where
            nobody measured.
        width: Of the pipe.

    A sentence after them: it is none.
    """

    rate: float | None = None
    width: int = 1


@dataclasses.dataclass(frozen=True)
class HotTapCall(TapCall):
    """A tap with two pipes.

    Attributes:
        width: Of the wider pipe.
        heat: Degrees.
    """

    heat: int = 40


@dataclasses.dataclass(frozen=True)
class BareCall(TapCall):
    depth: int = 0


@pytest.mark.parametrize(
    ("spec", "meanings"),
    [
        pytest.param(
            TapCall,
            {"rate": "Litres a minute; None where nobody measured", "width": "Of the pipe"},
            id="several-lines-and-markup",
        ),
        pytest.param(
            HotTapCall,
            {
                "rate": "Litres a minute; None where nobody measured",
                "width": "Of the wider pipe",
                "heat": "Degrees",
            },
            id="inherited-and-said-anew",
        ),
        pytest.param(
            BareCall,
            {"rate": "Litres a minute; None where nobody measured", "width": "Of the pipe"},
            id="no-docstring-of-its-own",
        ),
        pytest.param(CallSpec, {}, id="device-facts-are-none-of-the-call"),
    ],
)
def test_meanings_are_those_of_the_attributes_sections(spec, meanings):
    """Each is one line; a subclass's words stand before its base's."""
    assert fact_meanings(spec) == meanings


def test_every_fact_of_every_op_says_what_it_means():
    """No option of a command line is left with its name alone."""
    specs = {one.request for op in in_tree_ops().values() for one in op.interfaces.values()}

    silent = {
        (spec.__name__, fact.name)
        for spec in specs
        for fact in facts_declared(spec)
        if not fact_meanings(spec).get(fact.name)
    }

    assert len(specs) > 3
    assert silent == set()


def test_what_is_derived_are_facts_of_the_call_spec():
    """What is said and done about deriving names facts that there are; given ones decide."""
    specs = {one.request for op in in_tree_ops().values() for one in op.interfaces.values()}
    deriving = [spec for spec in specs if spec.DERIVED]

    assert {spec.__name__ for spec in deriving} == {"AttentionCall", "GLACall"}
    for spec in deriving:
        names = {fact.name for fact in facts_declared(spec)}
        assert set(spec.DERIVED) <= names
        assert set(spec.derived({"dim_k": 64, "is_fp8": True})) <= names
        assert spec.derived({}) == {}
