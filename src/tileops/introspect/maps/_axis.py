"""A fact that varies, and what the calls along it come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tileops.introspect.boundaries import outcome_name
from tileops.introspect.formula import (
    Term,
    Values,
    all_of,
    compare,
    const,
    fact,
    is_none,
    negate,
)
from tileops.introspect.symbolic.exploration import Explored, Witness
from tileops.introspect.symbolic.witness import equals

__all__ = ["IMPOSSIBLE", "UNSERVED", "Axis", "decided", "fixed", "holds"]


@dataclass(frozen=True)
class Axis:
    """A fact that varies, both ends included."""

    fact: str
    low: int
    high: int

    def within(self, low: int, high: int) -> Term:
        """Return that the fact lies between two numbers."""
        number = fact(self.fact)
        return all_of([compare("ge", number, const(low)), compare("le", number, const(high))])


IMPOSSIBLE: Final = "impossible"
"""The outcome of a call that no op makes."""


UNSERVED: Final = "unserved"
"""The outcome of a call that no key serves, for want of the device or otherwise."""


def decided(explored: Explored, values: Values) -> tuple[Witness, str]:
    """Return a call as the real code decides it, and the outcome by name."""
    witness = explored.witness(values)
    impossible = explored.form.call(values).impossible() is not None
    if impossible:
        return witness, IMPOSSIBLE
    outcome = outcome_name(witness.selection)
    return witness, UNSERVED if outcome == "no_device" else outcome


def holds(explored: Explored, outcome: str) -> Term:
    """Return where an outcome holds that `decided` names."""
    outcomes = explored.model.outcomes()
    return outcomes.get(f"key:{outcome}") or outcomes[outcome]


def fixed(explored: Explored, call: Values, axes: Sequence[Axis]) -> list[Term]:
    """Return what fixes the facts that do not vary; those that do are numbers."""
    varied = {one.fact for one in axes}
    return [
        (negate(is_none(one.name)) if one.name in varied else equals(one, call[one.name]))
        for one in explored.model.domain.all_facts
        if one.name not in varied or one.optional
    ]
