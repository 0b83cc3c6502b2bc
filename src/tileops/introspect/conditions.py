"""The conditions of a refusal: each with its truth for one call, the values seen, and its line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from tileops.introspect.formula import (
    FALSE,
    Term,
    Values,
    all_of,
    any_of,
    evaluate,
    facts_of,
    member,
    negate,
    render,
    spell,
)
from tileops.introspect.symbolic.exploration import Explored, Judged
from tileops.introspect.symbolic.tree import Branch, Choice, Leaf, Node, Site
from tileops.introspect.symbolic.tree import condition as serving

__all__ = ["Condition", "conditions"]


@dataclass(frozen=True)
class Condition:
    """Something that a call must satisfy for a key to serve it.

    Attributes:
        term: What must hold; None for what no formula says.
        holds: Whether it does; None where that is not known.
        observed: The values it depends on, or why it is not known, as text.
        place: The line that asks.
        alternatives: What would do as well, of a condition that does not hold: the other arms of
            an ``or`` that the code asked before.
    """

    term: Term | None
    holds: bool | None
    observed: str
    place: str
    alternatives: tuple[Term, ...] = ()

    @property
    def text(self) -> str:
        """The condition as an expression."""
        return "not modelled" if self.term is None else render(self.term)

    @property
    def whole(self) -> str:
        """The condition and its alternatives as an expression."""
        if self.term is None or not self.alternatives:
            return self.text
        return render(any_of((*self.alternatives, self.term)))


def conditions(explored: Explored, key: str, values: Values) -> tuple[Condition, ...]:
    """Return the conditions under which *key* serves a call, in the order of the code.

    Where the code has refused, the rest is what it would have asked next. A decision after which
    the key may serve the call either way is no condition.
    """
    found: dict[Term | None, Condition] = {}
    declined: list[tuple[Term, Term]] = []
    node: Node | None = explored.explorations[key].tree
    while node is not None and not isinstance(node, Leaf):
        condition, following = _step(node, values)
        if condition is None:
            declined += _declined(node, following)
        elif condition.term not in found:
            found[condition.term] = _with_alternatives(condition, declined, following)
        node = following
    if node is not None and node.unmodelled is not None:
        found[None] = Condition(None, None, node.unmodelled.why, node.unmodelled.where)
    return tuple(found.values())


def _step(node: Branch | Choice, values: Values) -> tuple[Condition | None, Node | None]:
    """Return the condition at a node, and the node after it on the way to serving the call."""
    return _branched(node, values) if isinstance(node, Branch) else _chosen(node, values)


def _chosen(node: Choice, values: Values) -> tuple[Condition | None, Node | None]:
    arms = {value: arm for value, arm in node.arms if _may_serve(arm)}
    here = values[node.fact]
    following = arms.get(here) or next(iter(arms.values()), None)
    if len(arms) == len(node.arms) or not arms:
        return None, following
    wanted = member(node.fact, arms)
    return _condition(wanted, here in arms, values, node.site), following


def _branched(node: Branch, values: Values) -> tuple[Condition | None, Node | None]:
    sides = [side for side in (node.holds, node.fails) if _may_serve(side)]
    here = node.holds if evaluate(node.term, values) else node.fails
    if len(sides) != 1:
        return None, here
    wanted = node.term if sides[0] is node.holds else negate(node.term)
    return _condition(wanted, sides[0] is here, values, node.site), sides[0]


def _declined(node: Branch | Choice, taken: Node | None) -> Iterator[tuple[Term, Term]]:
    """Yield what leads to the sides of a decision that were not taken, and what they ask for."""
    if isinstance(node, Branch):
        sides = [(node.term, node.holds), (negate(node.term), node.fails)]
    else:
        sides = [(member(node.fact, (value,)), arm) for value, arm in node.arms]
    asked = serving(taken, _serves)
    for decision, side in sides:
        needs = serving(side, _serves)
        if side is not taken and needs not in (asked, FALSE):
            yield decision, needs


def _with_alternatives(
    condition: Condition, declined: Iterable[tuple[Term, Term]], following: Node | None
) -> Condition:
    """Add to a condition that does not hold what would have made it unasked.

    A side that was not taken is an alternative together with what it asks for that is not asked
    for anyway after the condition.
    """
    if condition.holds is not False:
        return condition
    later = _parts(serving(following, _serves))
    found = [
        (decision, *(part for part in _parts(needs) if part not in later))
        for decision, needs in declined
    ]
    plain = [one for one in found if condition.term not in one and _is_short(one)]
    return replace(condition, alternatives=tuple(map(all_of, plain)))


def _is_short(parts: tuple[Term, ...]) -> bool:
    return len(parts) <= _MOST_PARTS and all(one.op not in ("and", "or", "ite") for one in parts)


_MOST_PARTS: Final = 2
"""Parts of an alternative; longer ones say more of the code than of the call."""


def _parts(term: Term) -> tuple[Term, ...]:
    return term.args if term.op == "and" else (term,)


def _serves(leaf: Leaf) -> bool:
    return leaf.unmodelled is not None or bool(leaf.result == Judged())


def _may_serve(node: Node | None) -> bool:
    if isinstance(node, Leaf):
        return _serves(node)
    if isinstance(node, Branch):
        return _may_serve(node.holds) or _may_serve(node.fails)
    return node is not None and any(_may_serve(arm) for _, arm in node.arms)


def _condition(term: Term, holds: bool, values: Values, site: Site) -> Condition:
    return Condition(term, holds, _observed(term, values), str(site))


def _observed(term: Term, values: Values) -> str:
    """Say the value that a condition is about: a fact's, or that of what is compared."""
    names = facts_of(term)
    facts = ", ".join(f"{name} is {spell(values[name])}" for name in names)
    left = term.args[0] if term.args else None
    computed = isinstance(left, Term) and left.op not in ("fact", "const")
    if len(names) == 1 and not computed:
        return f"is {spell(values[names[0]])}"
    if not computed or not isinstance(left, Term) or any(values[n] is None for n in names):
        return facts
    makes = f"{facts}, which makes {spell(evaluate(left, values))}"
    right = term.args[-1]
    if len(term.args) == 2 and isinstance(right, Term) and right.op not in ("fact", "const"):
        makes += f" against {spell(evaluate(right, values))}"
    return makes
