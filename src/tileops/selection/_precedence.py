"""Which key outranks which: declared preferences closed transitively, the general one last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from tileops.errors import PreferenceCycleError, PreferenceError, SeveralGeneralError
from tileops.selection._candidate import Candidate


class EdgeKind(Enum):
    """Why one key outranks another."""

    DIRECT = "direct"
    CHAIN = "chain"
    GENERAL = "general"


@dataclass(frozen=True)
class Edge:
    """``path[0]`` outranks ``path[-1]``; each key on the path is preferred over the next."""

    kind: EdgeKind
    path: tuple[str, ...]

    @property
    def winner(self) -> str:
        """The key that outranks."""
        return self.path[0]

    @property
    def loser(self) -> str:
        """The key that is outranked."""
        return self.path[-1]

    def __str__(self) -> str:
        if self.kind is EdgeKind.GENERAL:
            return f"{self.loser} is general"
        return " > ".join(self.path) if self.kind is EdgeKind.CHAIN else "preferred_over"


@dataclass(frozen=True)
class Precedence:
    """The precedence of one interface's keys.

    Attributes:
        general: The general key, if there is one.
        edges: For each key, the edge to every key it outranks.
    """

    general: str | None
    edges: Mapping[str, Mapping[str, Edge]]

    def edge(self, winner: str, loser: str) -> Edge | None:
        """Return why *winner* outranks *loser*, or None when it does not."""
        return self.edges[winner].get(loser)


def precedence(op: str, interface: str, candidates: Iterable[Candidate]) -> Precedence:
    """Close the declared preferences of *candidates*.

    Raises:
        SeveralGeneralError: Two candidates are general.
        PreferenceError: A ``preferred_over`` names no rival, or stands on the general one.
        PreferenceCycleError: The preferences lead back to a key.
    """
    by_key = {candidate.key: candidate for candidate in candidates}
    generals = [key for key, one in by_key.items() if one.implementation.general]
    if len(generals) > 1:
        raise SeveralGeneralError(op=op, interface=interface, keys=", ".join(generals))
    general = generals[0] if generals else None
    direct = {key: _preferences(op, interface, one, by_key) for key, one in by_key.items()}
    edges = {key: _reach(op, interface, key, direct) for key in by_key}
    if general is not None:
        for key, reached in edges.items():
            if key != general:
                reached[general] = Edge(EdgeKind.GENERAL, (key, general))
    frozen = {key: MappingProxyType(reached) for key, reached in edges.items()}
    return Precedence(general, MappingProxyType(frozen))


def _preferences(
    op: str, interface: str, candidate: Candidate, rivals: Mapping[str, Candidate]
) -> list[str]:
    """Return the keys that *candidate* states it is preferred over, sorted."""
    stated: object = candidate.implementation.preferred_over

    def reject(problem: str, remedy: str) -> PreferenceError:
        return PreferenceError(
            op=op,
            interface=interface,
            key=candidate.key,
            implementation=candidate.name,
            stated=stated,
            problem=problem,
            remedy=remedy,
        )

    if not isinstance(stated, (frozenset, set)) or not all(isinstance(k, str) for k in stated):
        raise reject("which is not a frozenset of keys", 'Write frozenset({"the_other_key"})')
    if stated and candidate.implementation.general:
        raise reject(
            "but it is general and ranks below every other key", "Remove preferred_over or general"
        )
    if candidate.key in stated:
        raise reject("which names itself", "A subclass inherits preferred_over: restate it")
    unknown = sorted(set(stated) - set(rivals))
    if unknown:
        raise reject(
            f"but {', '.join(map(repr, unknown))} is no key of this interface of the op",
            f"Its other keys are {', '.join(sorted(set(rivals) - {candidate.key})) or 'none'}",
        )
    return sorted(stated)


def _reach(op: str, interface: str, start: str, direct: Mapping[str, list[str]]) -> dict[str, Edge]:
    """Walk the preferences from *start* breadth first, so each edge holds a shortest path."""
    reached: dict[str, Edge] = {}
    frontier: list[tuple[str, ...]] = [(start,)]
    for path in frontier:
        for key in direct[path[-1]]:
            if key == start:
                raise PreferenceCycleError(
                    op=op, interface=interface, cycle=" -> ".join([*path, start])
                )
            if key not in reached:
                longer = (*path, key)
                kind = EdgeKind.DIRECT if len(longer) == 2 else EdgeKind.CHAIN
                reached[key] = Edge(kind, longer)
                frontier.append(longer)
    return reached
