"""Explaining one call over one device or many: which key each interface selects, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from tileops.backend import TargetChoice, choose_target
from tileops.call_spec import CallSpec
from tileops.device import BOARDS, Board
from tileops.errors import TileopsError
from tileops.ops.op import Op
from tileops.selection import Outcome, Selection, SelectionTable, select

__all__ = [
    "Explanation",
    "Group",
    "InterfaceAnswer",
    "Place",
    "TargetAnswer",
    "explain_request",
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
    """Places where a call comes to the same end; ``selection`` is that of the first of them."""

    places: tuple[str, ...]
    selection: Selection
    assumed_board: str | None


@dataclass(frozen=True)
class InterfaceAnswer:
    """What one interface answers, grouped by outcome in the order of the places."""

    table: SelectionTable
    call: CallSpec
    groups: tuple[Group, ...]

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
class Explanation:
    """The whole answer.

    Attributes:
        op: The op's class name.
        target: The target stage.
        defaulted: Names of the facts that were not given.
        every_board: Whether no place was named and the answer covers every known board.
        interfaces: One answer per kernel request.
    """

    op: str
    target: TargetAnswer
    defaulted: tuple[str, ...]
    every_board: bool
    interfaces: tuple[InterfaceAnswer, ...]

    @property
    def answered(self) -> bool:
        """Whether the answer is yes: selected, on some board where none was named."""
        if self.target.problem is not None:
            return False
        if self.target.choice is not None and self.target.choice.target is not None:
            return True
        if self.every_board:
            return all(one.selected_somewhere for one in self.interfaces)
        return all(one.selected_everywhere for one in self.interfaces)


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
    """Decide one kernel request at every place, and group the places by what comes of it."""
    grouped: dict[Any, tuple[list[str], Selection, CallSpec]] = {}
    first: CallSpec | None = None
    for place in places:
        call = place.call(spec, facts).resolved()
        first = first or call
        selection = select(table, call)
        signature = tuple((v.key, v.stage, v.reason, v.edges) for v in selection.verdicts)
        grouped.setdefault((selection.outcome, signature), ([], selection, call))[0].append(
            place.name
        )
    assert first is not None
    groups = tuple(
        Group(tuple(names), selection, call.assumed_board)
        for names, selection, call in grouped.values()
    )
    return InterfaceAnswer(table, first, groups)


def target_answer(op: type[Op], target: str | None, device: torch.device) -> TargetAnswer:
    """Say which target would serve a new instance of *op* on *device*."""
    op.registry.load()
    try:
        choice = choose_target(op.registry, op.__name__, target, device, bool(op.kernel_types))
    except TileopsError as error:
        return TargetAnswer(None, str(error), op.registry.targets())
    return TargetAnswer(choice, None, op.registry.targets())
