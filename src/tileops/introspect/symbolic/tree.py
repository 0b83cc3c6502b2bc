"""What an exploration found: a tree of the decisions that the code took, with its outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tileops.introspect.formula import (
    FALSE,
    TRUE,
    Term,
    Unmodelled,
    Value,
    all_of,
    any_of,
    member,
    where,
    without_shared_end,
)

__all__ = ["Branch", "Choice", "Leaf", "Node", "Site", "condition", "leaves"]


@dataclass(frozen=True)
class Site:
    """A line of code, the file given relative to the root it is imported from."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Leaf:
    """The end of a path: what the code returned, or what could not be modelled."""

    result: Any = None
    unmodelled: Unmodelled | None = None


@dataclass(frozen=True)
class Branch:
    """A condition that the code tested; a side that no call takes is None."""

    term: Term
    site: Site
    holds: Node | None
    fails: Node | None


@dataclass(frozen=True)
class Choice:
    """A fact of finite kind that the code read, and what follows for each value."""

    fact: str
    site: Site
    arms: tuple[tuple[Value, Node], ...]


Node = Leaf | Branch | Choice


def condition(node: Node | None, wanted: Callable[[Leaf], bool]) -> Term:
    """Return the formula of the calls whose path ends at a wanted leaf.

    Sides that no call takes are left out, so the formula holds for calls of the domain only.
    """
    if node is None:
        return FALSE
    if isinstance(node, Leaf):
        return TRUE if wanted(node) else FALSE
    if isinstance(node, Branch):
        if node.holds is None or node.fails is None:
            return condition(node.holds or node.fails, wanted)
        return where(node.term, condition(node.holds, wanted), condition(node.fails, wanted))
    grouped: dict[Term, list[Value]] = {}
    for value, arm in node.arms:
        grouped.setdefault(condition(arm, wanted), []).append(value)
    if len(grouped) == 1:
        return next(iter(grouped))
    sides = [(member(node.fact, vs), part) for part, vs in grouped.items() if part != FALSE]
    parts, shared = without_shared_end([part for _, part in sides])
    cases = any_of(all_of((side, part)) for (side, _), part in zip(sides, parts, strict=True))
    return all_of((cases, shared))


def leaves(node: Node | None) -> Iterator[Leaf]:
    """Yield the leaves of a tree, in the order of its code."""
    if isinstance(node, Leaf):
        yield node
    elif isinstance(node, Branch):
        yield from leaves(node.holds)
        yield from leaves(node.fails)
    elif isinstance(node, Choice):
        for _, arm in node.arms:
            yield from leaves(arm)
