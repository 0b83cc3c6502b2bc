"""Explaining one call over one device or many: which key each interface selects, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import torch

from tileops.backend import LoadFailure, TargetChoice, choose_target
from tileops.call_spec import CallSpec
from tileops.device import BOARDS, Board
from tileops.errors import TileopsError
from tileops.ops._signature import BoundCall
from tileops.ops.op import Op
from tileops.selection import Edge, Outcome, Selection, SelectionTable, Verdict, select

if TYPE_CHECKING:
    from tileops.introspect.conditions import Condition
    from tileops.introspect.why_not import WhyNot

__all__ = [
    "Explanation",
    "Group",
    "InterfaceAnswer",
    "Place",
    "TargetAnswer",
    "TensorCall",
    "explain_request",
    "place_of_board",
    "places_of_boards",
    "target_answer",
]


@dataclass(frozen=True)
class Place:
    """A device to ask about: a known board, stated facts, or a device of this machine.

    Attributes:
        name: What the answer calls it.
        device: The device, or None for stated facts of a CUDA device.
        facts: The stated device facts.
    """

    name: str
    device: torch.device | None = None
    facts: tuple[tuple[str, int], ...] = ()

    def torch_device(self) -> torch.device:
        """Return the device that target detectors are asked about."""
        return torch.device("cuda") if self.device is None else self.device

    def call(self, spec: type[CallSpec], facts: dict[str, Any]) -> CallSpec:
        """Build the call spec of a call with these facts here."""
        return spec(device=self.device, **dict(self.facts), **facts)


@dataclass(frozen=True)
class Group:
    """Places where a call comes to the same end for the same reasons.

    Attributes:
        places: Their names.
        selection: The selection at the first of them.
        reasons: Per verdict, the reason; where only the observed value differs between the
            places, with every value observed.
        assumed_board: The board whose facts stand in for those not stated.
        conditions: What each key that refuses asks of a call, with its truth here.
        why_not: What would have to change for the key asked about to be selected.
    """

    places: tuple[str, ...]
    selection: Selection
    reasons: tuple[str | None, ...]
    assumed_board: str | None
    conditions: Mapping[str, tuple[Condition, ...]] = field(default_factory=dict)
    why_not: WhyNot | None = None

    @property
    def call(self) -> CallSpec:
        """The call at the first of the places."""
        call: Any = self.selection.call
        return cast(CallSpec, call)


@dataclass(frozen=True)
class InterfaceAnswer:
    """What one interface answers, grouped by outcome in the order of the places."""

    table: SelectionTable
    call: CallSpec
    groups: tuple[Group, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the interface, in declaration order."""
        return tuple(one.key for one in self.table.candidates)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Every edge of the precedence graph, by winner in declaration order."""
        reached = self.table.precedence.edges.values()
        return tuple(edge for edges in reached for edge in edges.values())

    @property
    def decided(self) -> frozenset[Edge]:
        """The edges that outranked an applicable key at some place."""
        verdicts = (v for group in self.groups for v in group.selection.verdicts)
        return frozenset(edge for verdict in verdicts for edge in verdict.edges)

    @property
    def selected_somewhere(self) -> bool:
        """Whether some place selects a key."""
        return any(one.selection.outcome is Outcome.SELECTED for one in self.groups)

    @property
    def selected_everywhere(self) -> bool:
        """Whether every place selects a key."""
        return all(one.selection.outcome is Outcome.SELECTED for one in self.groups)


@dataclass(frozen=True)
class TargetAnswer:
    """Which target serves the op before any interface is asked.

    Attributes:
        choice: The target and its source; None when choosing fails.
        problem: Why choosing fails.
        registered: Every registered target.
    """

    choice: TargetChoice | None
    problem: str | None
    registered: tuple[str, ...]


@dataclass(frozen=True)
class TensorCall:
    """The call asked about, where it was given as tensors.

    Attributes:
        bound: The call as its op's checks describe it.
        defaulted: Names of the parameters that were not given.
        workload: The workload it was given by.
    """

    bound: BoundCall
    defaulted: tuple[str, ...] = ()
    workload: str | None = None


@dataclass(frozen=True)
class Explanation:
    """The whole answer.

    Attributes:
        op: The op's class name.
        target: The target stage.
        defaulted: Names of the facts that were not given.
        every_board: Whether no place was named and the answer covers every known board.
        interfaces: One answer per kernel request; none for a call that runs nothing.
        load_failures: The installed backends that did not load; their kernels take no part.
        supposing: The options that suppose other keys than the op has.
        call: The call, where it was given as tensors.
        impossible: Why no op asks the further interfaces for such a kernel, by interface.
    """

    op: str
    target: TargetAnswer
    defaulted: tuple[str, ...]
    every_board: bool
    interfaces: tuple[InterfaceAnswer, ...]
    load_failures: tuple[LoadFailure, ...] = ()
    supposing: tuple[str, ...] = ()
    call: TensorCall | None = None
    impossible: Mapping[str, str] = field(default_factory=dict)

    @property
    def runs_nothing(self) -> bool:
        """Whether every tensor that the call writes is empty, so that no kernel is asked for."""
        return self.call is not None and self.call.bound.empty

    @property
    def answered(self) -> bool:
        """Whether the answer is yes: selected, on some board where none was named."""
        # A call that runs nothing fixes no target either.
        if self.runs_nothing:
            return True
        if self.target.problem is not None:
            return False
        if self.target.choice is not None and self.target.choice.target is not None:
            return True
        if self.every_board:
            return all(one.selected_somewhere for one in self.interfaces)
        return all(one.selected_everywhere for one in self.interfaces)

    def selects(self, key: str) -> bool:
        """Return whether *key* is selected, wherever some key is where no place was named."""
        groups = [g for one in self.interfaces if key in one.keys for g in one.groups]
        found = [g.selection.selected for g in groups]
        if self.every_board:
            found = [one for one in found if one is not None]
        return bool(found) and all(one is not None and one.key == key for one in found)


def place_of_board(board: Board) -> Place:
    """Return the place that a known board is."""
    facts = board.facts
    stated = {"arch": facts.arch, "sm_count": facts.sm_count, "smem_budget": facts.smem_budget}
    return Place(board.name, None, tuple((k, v) for k, v in stated.items() if v is not None))


def places_of_boards() -> tuple[Place, ...]:
    """Return a place for every known board."""
    return tuple(place_of_board(board) for board in BOARDS)


def explain_request(
    table: SelectionTable, spec: type[CallSpec], facts: dict[str, Any], places: Iterable[Place]
) -> InterfaceAnswer:
    """Decide one kernel request at every place, and group the places by what comes of it.

    Args:
        table: The candidates of the interface.
        spec: Its call spec type.
        facts: The call's facts.
        places: Where to ask; at least one.
    """
    calls = [(place.name, place.call(spec, facts).resolved()) for place in places]
    grouped: dict[Any, list[tuple[str, Selection, str | None]]] = {}
    for name, call in calls:
        selection = select(table, call)
        story = tuple((v.stage, _requirement(v), v.edges) for v in selection.verdicts)
        member = (name, selection, call.assumed_board)
        grouped.setdefault((selection.outcome, story), []).append(member)
    return InterfaceAnswer(table, calls[0][1], tuple(map(_group, grouped.values())))


_OBSERVED = ", got "
"""What stands between the requirement and the observed value in a reason."""


def _requirement(verdict: Verdict) -> str | None:
    return verdict.reason and verdict.reason.partition(_OBSERVED)[0]


def _group(members: list[tuple[str, Selection, str | None]]) -> Group:
    names = tuple(name for name, _, _ in members)
    _, selection, assumed_board = members[0]
    verdicts = zip(*(one.verdicts for _, one, _ in members), strict=True)
    return Group(names, selection, tuple(map(_common_reason, verdicts)), assumed_board)


def _common_reason(verdicts: tuple[Verdict, ...]) -> str | None:
    """Return the reason that verdicts with one requirement share, with every value observed."""
    first = verdicts[0].reason
    observed = [one.reason.partition(_OBSERVED)[2] for one in verdicts if one.reason is not None]
    distinct = list(dict.fromkeys(observed))
    if first is None or len(distinct) == 1:
        return first
    return f"{_requirement(verdicts[0])}{_OBSERVED}{', '.join(distinct)}"


def target_answer(op: type[Op], target: str | None, device: torch.device) -> TargetAnswer:
    """Say which target would serve a new instance of *op* on *device*."""
    op.registry.load()
    try:
        choice = choose_target(op.registry, op.__name__, target, device, bool(op.kernel_types))
    except TileopsError as error:
        return TargetAnswer(None, str(error), op.registry.targets())
    return TargetAnswer(choice, None, op.registry.targets())
