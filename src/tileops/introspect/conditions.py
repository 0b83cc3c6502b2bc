"""The conditions of a refusal: each with its truth for one call, the values seen, and its line."""

from __future__ import annotations

from dataclasses import dataclass

from tileops.introspect.formula import (
    Term,
    Values,
    evaluate,
    facts_of,
    member,
    negate,
    render,
    spell,
)
from tileops.introspect.symbolic.exploration import Explored, Judged
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
    """

    term: Term | None
    holds: bool | None
    observed: str
    place: str

    @property
    def text(self) -> str:
        """The condition as an expression."""
        return "not modelled" if self.term is None else render(self.term)


def conditions(explored: Explored, key: str, values: Values) -> tuple[Condition, ...]:
    """Return the conditions under which *key* serves a call, in the order of the code.

    Where the code has refused, the rest is what it would have asked next. A decision after which
    the key may serve the call either way is no condition.
    """
    found: dict[Term | None, Condition] = {}
    node: Node | None = explored.explorations[key].tree
    while node is not None and not isinstance(node, Leaf):
        condition, node = _step(node, values)
        if condition is not None:
            found.setdefault(condition.term, condition)
    if node is not None and node.unmodelled is not None:
        found[None] = Condition(None, None, node.unmodelled.why, node.unmodelled.where)
    return tuple(found.values())


def _step(node: Branch | Choice, values: Values) -> tuple[Condition | None, Node | None]:
    """Return the condition at a node, and the node after it on the way to serving the call."""
    return _branched(node, values) if isinstance(node, Branch) else _chosen(node, values)


def _chosen(node: Choice, values: Values) -> tuple[Condition | None, Node | None]:
    serving = {value: arm for value, arm in node.arms if _may_serve(arm)}
    here = values[node.fact]
    following = serving.get(here) or next(iter(serving.values()), None)
    if len(serving) == len(node.arms) or not serving:
        return None, following
    wanted = member(node.fact, serving)
    return _condition(wanted, here in serving, values, node.site), following


def _branched(node: Branch, values: Values) -> tuple[Condition | None, Node | None]:
    sides = [side for side in (node.holds, node.fails) if _may_serve(side)]
    here = node.holds if evaluate(node.term, values) else node.fails
    if len(sides) != 1:
        return None, here
    wanted = node.term if sides[0] is node.holds else negate(node.term)
    return _condition(wanted, sides[0] is here, values, node.site), sides[0]


def _may_serve(node: Node | None) -> bool:
    if isinstance(node, Leaf):
        return node.unmodelled is not None or bool(node.result == Judged())
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
    return f"{facts}, which makes {spell(evaluate(left, values))}"
