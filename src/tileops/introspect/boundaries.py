"""Adjacent pairs of calls: one fact differs by one step, and the outcome differs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

from tileops.introspect.formula import (
    Domain,
    FactDomain,
    Term,
    Value,
    Values,
    compare,
    const,
    fact,
    facts_of,
    member,
    number,
    substituted,
)
from tileops.introspect.symbolic.exploration import Explored, Witness
from tileops.introspect.symbolic.prover import Status
from tileops.introspect.symbolic.witness import minimal
from tileops.selection import Outcome, Selection

__all__ = ["Boundaries", "Boundary", "boundaries", "outcome_name"]


@dataclass(frozen=True)
class Boundary:
    """Two calls that differ in one fact only, by one step of a number or by one choice.

    Attributes:
        fact: The fact.
        before: The call with the smaller number or the earlier choice.
        after: The other.
    """

    fact: str
    before: Witness
    after: Witness


@dataclass(frozen=True)
class Boundaries:
    """One boundary for every fact and pair of outcomes that has any.

    Attributes:
        found: The boundaries; the real code was asked about both calls of each.
        undecided: How many pairs are neither shown nor proved not to exist.
    """

    found: tuple[Boundary, ...]
    undecided: int = 0


def boundaries(explored: Explored, *within: Term) -> Boundaries:
    """Find, for every fact and two outcomes, the plainest pair of adjacent calls.

    Args:
        explored: The interface.
        within: What both calls satisfy, such as running on one machine.
    """
    outcomes = {
        name: term
        for name, term in explored.model.outcomes().items()
        if not explored.prover.find(term, *within).proved_none
    }
    found: list[Boundary] = []
    undecided = 0
    for one in explored.model.domain.facts:
        for first, second in permutations(outcomes, 2):
            pair = _pair(explored, one, outcomes[first], outcomes[second], within)
            if pair is None:
                undecided += 1
            elif pair:
                found.append(Boundary(one.name, *map(explored.witness, pair)))
    shown = [one for one in found if _differs(one)]
    return Boundaries(tuple(shown), undecided + len(found) - len(shown))


def _differs(one: Boundary) -> bool:
    return outcome_name(one.before.selection) != outcome_name(one.after.selection)


def outcome_name(selection: Selection) -> str:
    """Return the selected key, or the outcome where none is."""
    if selection.outcome is Outcome.SELECTED and selection.selected is not None:
        return selection.selected.key
    return selection.outcome.value


def _pair(
    explored: Explored, one: FactDomain, first: Term, second: Term, within: tuple[Term, ...]
) -> tuple[Values, Values] | tuple[()] | None:
    """Return the plainest pair, nothing when there is none, and None when that is not known."""
    reads = {name for term in (first, second) for name in facts_of(term)}
    if one.name not in reads:
        return ()
    undecided = False
    for before, after in _steps(one):
        here, there = _stepped(explored.model.domain, one, before, after)
        answer = minimal(explored.prover, first, here, *within, _moved(second, one, after), there)
        if answer.values is not None:
            step = answer.values[one.name]
            moved = step + 1 if after is None and isinstance(step, int) else after
            return answer.values, {**answer.values, one.name: moved}
        undecided = undecided or answer.status is Status.UNKNOWN
    return None if undecided else ()


def _steps(one: FactDomain) -> Iterator[tuple[Value, Value]]:
    """Yield the steps of a fact: from one choice to a later one, or (None, None) for plus one."""
    if one.kind == "choice":
        values = one.choices
        yield from ((a, b) for n, a in enumerate(values) for b in values[n + 1 :])
    elif one.kind == "int":
        yield None, None


def _stepped(domain: Domain, one: FactDomain, before: Value, after: Value) -> tuple[Term, Term]:
    """Return what holds of the first call's fact, and that the second call is possible."""
    possible = _moved(domain.possible, one, after)
    if one.kind == "choice":
        return member(one.name, (before,)), possible
    ahead = number("add", fact(one.name), const(1))
    high = const(True) if one.high is None else compare("le", ahead, const(one.high))
    return high, possible


def _moved(term: Term, one: FactDomain, after: Value) -> Term:
    """Return a formula of the second call as one of the first."""
    if one.kind == "choice":
        return substituted(term, one.name, after)
    return substituted(term, one.name, number("add", fact(one.name), const(1)))
