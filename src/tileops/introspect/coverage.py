"""Which conditions and boundaries of an interface a set of calls has tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tileops.introspect.boundaries import boundaries, outcome_name
from tileops.introspect.formula import Term, Value, Values, compiled, member, negate, render
from tileops.introspect.symbolic.exploration import Explored, Judged
from tileops.introspect.symbolic.tree import Branch, Choice, Leaf, Node

__all__ = [
    "Asked",
    "ConditionSeen",
    "InterfaceCoverage",
    "PairTested",
    "conditions_seen",
    "coverage",
]


@dataclass(frozen=True)
class Asked:
    """A call that was decided.

    Attributes:
        values: Its facts in canonical form.
        outcome: The selected key, or the outcome where none is.
    """

    values: tuple[tuple[str, Value], ...]
    outcome: str


@dataclass(frozen=True)
class ConditionSeen:
    """A condition of a key, and which truth values the calls gave it.

    Attributes:
        key: The key.
        text: The condition as an expression.
        place: The line that asks.
        held: Whether some call satisfied it.
        failed: Whether some call did not.
    """

    key: str
    text: str
    place: str
    held: bool
    failed: bool

    @property
    def both_ways(self) -> bool:
        """Whether it was seen both ways."""
        return self.held and self.failed


@dataclass(frozen=True)
class PairTested:
    """A boundary: a step of one fact across which the outcome changes.

    Attributes:
        fact: The fact.
        before: The outcome on the lower side.
        after: The outcome on the upper side.
        example: The options of a call on the lower side, and the fact's value on the upper.
        tested: Whether the calls hold two neighbours with these outcomes.
    """

    fact: str
    before: str
    after: str
    example: str
    tested: bool


@dataclass(frozen=True)
class InterfaceCoverage:
    """What was tried of one interface.

    Attributes:
        op: The op's class name.
        interface: The interface.
        calls: How many different calls were decided.
        conditions: Every condition that can come out both ways.
        pairs: Every boundary.
        undecided: How many boundaries may exist beside these.
    """

    op: str
    interface: str
    calls: int
    conditions: tuple[ConditionSeen, ...]
    pairs: tuple[PairTested, ...]
    undecided: int = 0


def coverage(explored: Explored, asked: Iterable[Asked]) -> InterfaceCoverage:
    """Compare the calls that were decided with the conditions and boundaries that there are."""
    calls = tuple(dict.fromkeys(asked))
    found = boundaries(explored)
    neighbours = frozenset(_neighbours(explored, calls))
    pairs = []
    for one in found.found:
        before, after = outcome_name(one.before.selection), outcome_name(one.after.selection)
        options = " ".join(one.before.selection.call.options())
        example = f"{options}, then {one.fact} {one.after.values[one.fact]}"
        tested = (one.fact, before, after) in neighbours
        pairs.append(PairTested(one.fact, before, after, example, tested))
    return InterfaceCoverage(
        explored.model.op,
        explored.model.interface,
        len(calls),
        conditions_seen(explored, calls),
        tuple(pairs),
        found.undecided,
    )


def conditions_seen(explored: Explored, calls: Iterable[Asked]) -> tuple[ConditionSeen, ...]:
    """Say of every condition of every key how it came out over the calls."""
    decided = tuple(calls)
    keys = explored.model.keys
    return tuple(seen for key in keys for seen in _conditions_seen(explored, key, decided))


def _neighbours(explored: Explored, calls: Iterable[Asked]) -> Iterator[tuple[str, str, str]]:
    """Yield (fact, lower outcome, upper outcome) of every two calls one step apart."""
    for one in explored.model.domain.facts:
        rank = {value: place for place, value in enumerate(one.choices)} if one.values else None
        lines: dict[object, dict[Value, str]] = {}
        for call in calls:
            values = dict(call.values)
            here = values.pop(one.name, None)
            lines.setdefault(tuple(values.items()), {})[here] = call.outcome
        for line in lines.values():
            if rank is not None:
                ranked = sorted(
                    (rank[value], name) for value, name in line.items() if value in rank
                )
                for place, (_, lower) in enumerate(ranked):
                    for _, upper in ranked[place + 1 :]:
                        yield one.name, lower, upper
                continue
            for value, lower in line.items():
                if isinstance(value, int) and value + 1 in line:
                    yield one.name, lower, line[value + 1]


def _conditions_seen(
    explored: Explored, key: str, calls: Iterable[Asked]
) -> Iterator[ConditionSeen]:
    path = _Path(explored.explorations[key].tree)
    seen: dict[Term, set[bool]] = {term: set() for term in path.places}
    for call in calls:
        for term, holds in path.truths(dict(call.values)):
            seen[term].add(holds)
    for term, truths in seen.items():
        yield ConditionSeen(key, render(term), path.places[term], True in truths, False in truths)


class _Path:
    """The conditions of one key, and the way of a call through them.

    A condition is a decision that one side of which the key cannot serve. A call that fails one
    goes on as if it had not, so that one call tells of every condition.

    Attributes:
        places: The line that asks, for every condition that can come out both ways.
    """

    def __init__(self, tree: Node | None) -> None:
        self._tree = tree
        self._serving: dict[int, bool] = {}
        self._tests: dict[int, Callable[[Values], Value]] = {}
        self.places: dict[Term, str] = {}
        self._collect(tree)

    def truths(self, values: Values) -> Iterator[tuple[Term, bool]]:
        """Yield every condition that a call meets, and whether it holds."""
        node = self._tree
        while isinstance(node, (Branch, Choice)):
            if isinstance(node, Branch) and id(node) not in self._tests:
                self._tests[id(node)] = compiled(node.term)
            try:
                here = self._taken(node, values)
            except TypeError:
                # The formula is about a fact that the call's device does not have.
                return
            term = self._condition(node)
            served = here is not None and self._may_serve(here)
            if term is not None and term in self.places:
                yield term, served
            node = here if served or term is None else self._first_serving(node)

    def _taken(self, node: Branch | Choice, values: Values) -> Node | None:
        if isinstance(node, Branch):
            return node.holds if self._tests[id(node)](values) else node.fails
        return dict(node.arms).get(values[node.fact])

    def _collect(self, node: Node | None) -> None:
        if not isinstance(node, (Branch, Choice)):
            return
        term = self._condition(node)
        if term is not None and all(_sides(node)):
            self.places.setdefault(term, str(node.site))
        for side in _sides(node):
            self._collect(side)

    def _condition(self, node: Branch | Choice) -> Term | None:
        serving = [self._may_serve(side) for side in _sides(node)]
        if all(serving) or not any(serving):
            return None
        if isinstance(node, Branch):
            return node.term if serving[0] else negate(node.term)
        values = [value for (value, _), may in zip(node.arms, serving, strict=True) if may]
        return member(node.fact, values)

    def _first_serving(self, node: Branch | Choice) -> Node | None:
        return next((side for side in _sides(node) if self._may_serve(side)), None)

    def _may_serve(self, node: Node | None) -> bool:
        if node is None:
            return False
        known = self._serving.get(id(node))
        if known is None:
            if isinstance(node, Leaf):
                known = node.result == Judged()
            else:
                known = any(map(self._may_serve, _sides(node)))
            self._serving[id(node)] = known
        return known


def _sides(node: Branch | Choice) -> list[Node | None]:
    if isinstance(node, Branch):
        return [node.holds, node.fails]
    return [arm for _, arm in node.arms]
