"""The conditions of a refusal: each with its truth for one call, the values seen, and its line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tileops.introspect.formula import (
    TRUE,
    Term,
    Values,
    all_of,
    evaluate,
    facts_of,
    member,
    negate,
    render,
    spell,
    substituted,
)
from tileops.introspect.other_arms import (
    Declined,
    Question,
    declined,
    joined,
    may_serve,
    other_arms,
)
from tileops.introspect.symbolic.exploration import Explored
from tileops.introspect.symbolic.tree import Branch, Choice, Leaf, Node, Site

__all__ = ["Condition", "conditions"]


@dataclass(frozen=True)
class Condition:
    """Something that a call must satisfy for a key to serve it.

    Attributes:
        term: What must hold; None for what no formula says.
        holds: Whether it does; None where that is not known.
        observed: The values it depends on, or why it is not known, as text.
        place: The line that asks.
        among: The term with what would do as well, of a condition that does not hold: the other
            arms of an ``or`` that the code asked before. None where there are none.
    """

    term: Term | None
    holds: bool | None
    observed: str
    place: str
    among: Term | None = None

    @property
    def text(self) -> str:
        """The condition as an expression."""
        return "not modelled" if self.term is None else render(self.term)

    @property
    def whole(self) -> str:
        """The condition and the other arms of its ``or`` as an expression."""
        return self.text if self.among is None else render(self.among)


def conditions(explored: Explored, key: str, values: Values) -> tuple[Condition, ...]:
    """Return the conditions under which *key* serves a call, in the order of the code.

    Where the code has refused, the rest is what it would have asked next. A decision after which
    the key may serve the call either way is no condition.
    """
    found: dict[Term | None, Condition] = {}
    before: list[Declined] = []
    node: Node | None = explored.explorations[key].tree
    while node is not None and not isinstance(node, Leaf):
        condition, following = _step(node, values)
        if condition is None:
            before += declined(node, following)
        elif condition.term is not None and condition.term not in found:
            asked = Question(condition.term, node.site, following)
            found[condition.term] = _with_other_arms(condition, asked, before, values)
        node = following
    if node is not None and node.unmodelled is not None:
        found[None] = Condition(None, None, node.unmodelled.why, node.unmodelled.where)
    return tuple(one for one in found.values() if not _said_by_others(one, found.values()))


def _said_by_others(condition: Condition, others: Iterable[Condition]) -> bool:
    """Whether a condition fails that a stricter one, which fails too, makes superfluous."""
    return condition.holds is False and any(
        one.term is not None
        and condition.term not in (None, one.term)
        and one.among is condition.among is None
        and one.holds is False
        and _implies(one.term, condition.term)
        for one in others
    )


def _implies(one: Term, other: Term | None) -> bool:
    assert other is not None
    if all_of((one, other)) == one:
        return True
    if one.op != "eq" or [side.op for side in one.args] != ["fact", "const"]:
        return False
    name, value = one.args[0].args[0], one.args[1]
    return substituted(other, name, value) == TRUE


def _step(node: Branch | Choice, values: Values) -> tuple[Condition | None, Node | None]:
    """Return the condition at a node, and the node after it on the way to serving the call."""
    return _branched(node, values) if isinstance(node, Branch) else _chosen(node, values)


def _chosen(node: Choice, values: Values) -> tuple[Condition | None, Node | None]:
    arms = {value: arm for value, arm in node.arms if may_serve(arm)}
    here = values[node.fact]
    following = arms.get(here) or next(iter(arms.values()), None)
    if len(arms) == len(node.arms) or not arms:
        return None, following
    wanted = member(node.fact, arms)
    return _condition(wanted, here in arms, values, node.site), following


def _branched(node: Branch, values: Values) -> tuple[Condition | None, Node | None]:
    sides = [side for side in (node.holds, node.fails) if may_serve(side)]
    here = node.holds if evaluate(node.term, values) else node.fails
    if len(sides) != 1:
        return None, here
    wanted = node.term if sides[0] is node.holds else negate(node.term)
    return _condition(wanted, sides[0] is here, values, node.site), sides[0]


def _with_other_arms(
    condition: Condition, asked: Question, before: Sequence[Declined], values: Values
) -> Condition:
    """Add to a condition that does not hold what would have left it unasked."""
    arms = {} if condition.holds else other_arms(asked, before)
    if not arms:
        return condition
    names = [*(name for decision in arms for name in facts_of(decision)), *facts_of(asked.term)]
    among, observed = joined(asked.term, arms), _observed(asked.term, values, names)
    return replace(condition, among=among, observed=observed)


def _condition(term: Term, holds: bool, values: Values, site: Site) -> Condition:
    return Condition(term, holds, _observed(term, values, facts_of(term)), str(site))


def _observed(term: Term, values: Values, names: Iterable[str]) -> str:
    """Say the values that a condition is about: those of facts, and of what is compared."""
    names = tuple(dict.fromkeys(names))
    computed = any(_is_computed(side) for side in term.args)
    if len(names) == 1 and not computed:
        return f"is {spell(values[names[0]])}"
    facts = ", ".join(f"{name} is {spell(values[name])}" for name in names)
    if not computed or any(values[name] is None for name in facts_of(term)):
        return facts
    left, *right = term.args
    compared = [left, *filter(_is_computed, right)]
    makes = " against ".join(spell(evaluate(side, values)) for side in compared)
    return f"{facts}, which makes {makes}"


def _is_computed(side: object) -> bool:
    return isinstance(side, Term) and side.op not in ("fact", "const")
