"""The keys of an interface as a graph: what outranks what, and which calls two keys share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import combinations

from tileops.introspect.formula import negate
from tileops.introspect.symbolic.exploration import Explored, Witness
from tileops.introspect.symbolic.prover import Status
from tileops.introspect.symbolic.witness import minimal
from tileops.selection import Candidate, Edge

__all__ = ["Overlap", "Pair", "PrecedenceGraph", "precedence_graph"]


class Overlap(Enum):
    """Whether two keys both apply to some possible call."""

    DECLARED = "declared"
    UNDECLARED = "undeclared"
    DISJOINT = "disjoint"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Pair:
    """Two keys.

    Attributes:
        first: The key that outranks, where one does.
        second: The other.
        overlap: Whether they share calls, and whether that is settled.
        edge: Why the first outranks the second; None where neither does.
        covers: Whether every call of the first is one of the second.
        shared: The plainest call that both apply to.
    """

    first: str
    second: str
    overlap: Overlap
    edge: Edge | None = None
    covers: bool = False
    shared: Witness | None = None


@dataclass(frozen=True)
class PrecedenceGraph:
    """The keys and every pair of them."""

    op: str
    interface: str
    candidates: tuple[Candidate, ...]
    general: str | None
    pairs: tuple[Pair, ...]


def precedence_graph(explored: Explored) -> PrecedenceGraph:
    """Relate every two keys of an interface."""
    table = explored.table
    return PrecedenceGraph(
        table.op,
        table.interface,
        table.candidates,
        table.precedence.general,
        tuple(_pairs(explored)),
    )


def _pairs(explored: Explored) -> Iterator[Pair]:
    precedence, serving = explored.table.precedence, explored.model.serving
    for a, b in combinations(explored.model.keys, 2):
        first, second = (b, a) if precedence.edge(b, a) is not None else (a, b)
        edge = precedence.edge(first, second)
        answer = minimal(explored.prover, serving[first], serving[second])
        shared = None if answer.values is None else explored.witness(answer.values)
        if shared is not None and not _both_apply(shared, first, second):
            shared = None
        if answer.proved_none:
            overlap = Overlap.DISJOINT
        elif shared is None or answer.status is Status.UNKNOWN:
            overlap = Overlap.UNKNOWN
        else:
            overlap = Overlap.UNDECLARED if edge is None else Overlap.DECLARED
        covers = explored.prover.find(serving[first], negate(serving[second])).proved_none
        yield Pair(first, second, overlap, edge, covers, shared)


def _both_apply(witness: Witness, first: str, second: str) -> bool:
    applicable = {v.key for v in witness.selection.verdicts if v.stage.applicable}
    return {first, second} <= applicable
