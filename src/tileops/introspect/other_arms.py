"""The other arms of the ``or`` that a condition is one arm of: what would have left it unasked.

Code asks ``if a and b: return reason`` step by step, so where it gets as far as ``b`` has been
decided before. A call that is served satisfies ``not a or not b``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tileops.introspect.formula import (
    FALSE,
    Term,
    all_of,
    any_of,
    atoms,
    facts_of,
    member,
    negate,
    where,
)
from tileops.introspect.symbolic.exploration import Judged
from tileops.introspect.symbolic.tree import Branch, Choice, Leaf, Node, Site, condition

__all__ = ["Declined", "Question", "declined", "joined", "may_serve", "other_arms"]

Arms = Mapping[Term, Sequence[Term]]
"""What leads past a condition, each with what is asked there instead."""


@dataclass(frozen=True)
class Declined:
    """A side of a decision that the call did not take, and that may serve other calls.

    Attributes:
        decision: What leads there.
        site: The line that decides.
        side: What follows.
    """

    decision: Term
    site: Site
    side: Node


@dataclass(frozen=True)
class Question:
    """A condition in its place.

    Attributes:
        term: The condition.
        site: The line that asks it.
        following: What follows where it holds.
    """

    term: Term
    site: Site
    following: Node | None


def declined(node: Branch | Choice, taken: Node | None) -> Iterator[Declined]:
    """Yield the sides of a decision that were not taken and where something else is asked."""
    if isinstance(node, Branch):
        sides = [(node.term, node.holds), (negate(node.term), node.fails)]
    else:
        sides = [(member(node.fact, (value,)), arm) for value, arm in node.arms]
    asked = condition(taken, serves)
    for decision, side in sides:
        if side is taken or side is None:
            continue
        if condition(side, serves) not in (asked, FALSE):
            yield Declined(decision, node.site, side)


def other_arms(question: Question, before: Sequence[Declined]) -> Arms:
    """Return the arms that decisions before a question leave.

    A decision in the question's own line makes an arm, and so does one in its function where its
    line has none. One in another function does where little else is asked instead.
    """
    term = question.term
    left = [one for one in before if term not in atoms(condition(one.side, serves))]
    beside = {one.decision: _beside(question, one) for one in left if _same_line(question, one)}
    if beside:
        return {decision: asked for decision, asked in beside.items() if asked is not None}
    arms: dict[Term, Sequence[Term]] = {}
    for one in left:
        asked = _beside(question, one) if _same_function(question, one) else _instead(question, one)
        if asked is not None:
            arms[one.decision] = asked
    return arms


def joined(term: Term, arms: Arms) -> Term:
    """Join a condition and its other arms: one case of two reads as such, more of them as an or."""
    needing = [decision for decision, asked in arms.items() if asked]
    if len(needing) == 1:
        term = where(needing[0], all_of(arms[needing[0]]), term)
        arms = {decision: () for decision in arms if decision != needing[0]}
    parts: dict[str | Term, Term] = {}
    for arm in (all_of((decision, *asked)) for decision, asked in arms.items()):
        if arm.op == "in":
            name, *values = arm.args
            known = parts[name].args[1:] if name in parts else ()
            parts[name] = member(name, (*known, *values))
        else:
            parts[arm] = arm
    return any_of((*parts.values(), term))


def serves(leaf: Leaf) -> bool:
    """Whether a path ends with the key serving the call, as far as is known."""
    return leaf.unmodelled is not None or bool(leaf.result == Judged())


def may_serve(node: Node | None) -> bool:
    """Whether some path from here ends with the key serving the call."""
    if isinstance(node, Leaf):
        return serves(node)
    if isinstance(node, Branch):
        return may_serve(node.holds) or may_serve(node.fails)
    return node is not None and any(may_serve(arm) for _, arm in node.arms)


def _same_line(question: Question, one: Declined) -> bool:
    return str(one.site) == str(question.site)


def _same_function(question: Question, one: Declined) -> bool:
    ours, its = question.site, one.site
    return (ours.file, ours.function) == (its.file, its.function)


def _beside(question: Question, one: Declined) -> Sequence[Term] | None:
    """Return what the question's line asks on the other side; None where that is no other arm."""
    asked = tuple(dict.fromkeys(_asked_at(str(question.site), one.side)))
    if any(set(facts_of(term)) == set(facts_of(question.term)) for term in asked):
        # The same question in other numbers: bytes of another dtype, say.
        return None
    return asked if len(asked) <= _MOST_ASKED else None


_MOST_ASKED: Final = 1
"""What an arm asks for; more than that says more of the code than of the call."""


def _asked_at(place: str, node: Node | None) -> Iterator[Term]:
    """Yield the conditions that a line asks on the ways to serving a call."""
    if isinstance(node, Branch):
        sides = [side for side in (node.holds, node.fails) if may_serve(side)]
        if len(sides) == 1 and str(node.site) == place:
            yield node.term if sides[0] is node.holds else negate(node.term)
        for side in sides:
            yield from _asked_at(place, side)
    elif isinstance(node, Choice):
        for _, arm in node.arms:
            yield from _asked_at(place, arm)


def _instead(question: Question, one: Declined) -> Sequence[Term] | None:
    """Return what a side asks for that is not asked for anyway; None where that is much."""
    later = _parts(condition(question.following, serves))
    asked = [part for part in _parts(condition(one.side, serves)) if part not in later]
    simple = all(part.op not in ("and", "or", "ite") for part in asked)
    return asked if simple and len(asked) <= _MOST_ASKED else None


def _parts(term: Term) -> tuple[Term, ...]:
    return term.args if term.op == "and" else (term,)
