"""Where a formula holds, as conditions a reader can check: regions, each with its plainest call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tileops.introspect.formula import (
    TRUE,
    Term,
    Values,
    all_of,
    atoms,
    evaluate,
    facts_of,
    member,
    negate,
    render,
    write,
)
from tileops.introspect.symbolic.prover import Prover, Status
from tileops.introspect.symbolic.witness import minimal

__all__ = ["MOST_REGIONS", "Region", "Regions", "regions"]

MOST_REGIONS: Final = 12
"""More regions than this help nobody; the rest is only counted as being there."""


@dataclass(frozen=True)
class Region:
    """A part of where a formula holds.

    Attributes:
        conditions: Whatever satisfies them all, satisfies the formula.
        witness: The plainest call of it.
    """

    conditions: tuple[Term, ...]
    witness: Values

    def text(self) -> str:
        """Say where it is."""
        parts = _conjuncts(all_of(self.conditions))
        return ", ".join(render(one) for one in parts if one != TRUE) or "every call"


@dataclass(frozen=True)
class Regions:
    """The regions of a formula.

    Attributes:
        found: The regions, the plainest witnesses first.
        complete: Whether it is proved that the formula holds nowhere else.
        undecided: Whether the prover gave up.
    """

    found: tuple[Region, ...]
    complete: bool
    undecided: bool = False


def regions(prover: Prover, formula: Term, *within: Term, most: int = MOST_REGIONS) -> Regions:
    """Cover the calls of *formula* by regions, stating of each only what matters.

    Args:
        prover: Holds the domain.
        formula: What holds in every region.
        within: What is assumed, and so not said of the regions.
        most: How many regions to look for.
    """
    found: list[Region] = []
    with prover.assuming(*within):
        for region in _cover(prover, formula):
            if region is None:
                return Regions(tuple(found), complete=False, undecided=True)
            found.append(region)
            if len(found) == most:
                rest = prover.find(formula, *(negate(all_of(one.conditions)) for one in found))
                return Regions(tuple(found), rest.proved_none, rest.status is Status.UNKNOWN)
    return Regions(tuple(found), complete=True)


def _cover(prover: Prover, formula: Term) -> Iterator[Region | None]:
    """Yield regions until none is left; None when the prover gives up."""
    left = [formula]
    while True:
        answer = minimal(prover, *left)
        if answer.values is None:
            if not answer.proved_none:
                yield None
            return
        region = Region(_what_matters(prover, formula, answer.values), answer.values)
        yield region
        if not region.conditions:
            return
        left.append(negate(all_of(region.conditions)))


def _what_matters(prover: Prover, formula: Term, values: Values) -> tuple[Term, ...]:
    """Return the conditions true of a call that by themselves make the formula hold."""
    literals = [_literal(atom, values) for atom in atoms(formula) if _is_defined(atom, values)]
    core = prover.core(literals, negate(formula))
    if core is None:
        # An atom that is not defined for this call matters: say the whole formula.
        return (formula,)
    return _merged(prover, [literals[place] for place in core])


_FEW: Final = 4
"""A fact with at most so many values left is said by these, else by what it is not."""


def _merged(prover: Prover, literals: Sequence[Term]) -> tuple[Term, ...]:
    """Say of each fact once which values it has, where several literals say which it has not."""
    merged: dict[str, Term] = {}
    for literal in literals:
        membership = literal.args[0] if literal.op == "not" else literal
        one = prover.domain.fact(membership.args[0]) if membership.op == "in" else None
        if one is None or not one.countable:
            merged[write(literal)] = literal
            continue
        known = merged.get(one.name, TRUE)
        both = all_of((known, literal))
        left = [value for value in one.countable if evaluate(both, {one.name: value})]
        merged[one.name] = member(one.name, left) if len(left) <= _FEW else both
    return tuple(part for term in merged.values() for part in _conjuncts(term))


def _conjuncts(term: Term) -> tuple[Term, ...]:
    return term.args if term.op == "and" else (term,)


def _literal(atom: Term, values: Values) -> Term:
    if atom.op == "in" and not evaluate(atom, values):
        return negate(atom)
    return atom if evaluate(atom, values) else negate(atom)


def _is_defined(atom: Term, values: Values) -> bool:
    if atom.op == "in":
        return True
    if any(values[name] is None for name in facts_of(atom)):
        return False
    try:
        evaluate(atom, values)
    except (ArithmeticError, ValueError):
        return False
    return True
