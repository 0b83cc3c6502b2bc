"""What would have to change for a call to select a given key: every minimal set of facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from tileops.introspect.formula import (
    DEVICE_FACTS,
    Term,
    Value,
    Values,
    all_of,
)
from tileops.introspect.symbolic.exploration import Explored, Witness
from tileops.introspect.symbolic.prover import Status, Switches
from tileops.introspect.symbolic.witness import equals, nearest

__all__ = ["MOST_CHANGES", "Change", "Counterfactual", "WhyNot", "why_not"]

MOST_CHANGES: Final = 3
"""Changes of more facts than this are another call, not a hint."""

_MACHINE: Final = "machine"


@dataclass(frozen=True)
class Change:
    """One fact that would be different."""

    fact: str
    old: Value
    new: Value


@dataclass(frozen=True)
class Counterfactual:
    """A nearest call that selects the key; the machine counts as one fact.

    Attributes:
        changes: What differs from the call asked about.
        board: The known board to run on instead; None where the machine stays.
        witness: The call, which the real code was asked about.
    """

    changes: tuple[Change, ...]
    board: str | None
    witness: Witness


@dataclass(frozen=True)
class WhyNot:
    """The answer for one call and one key.

    Attributes:
        key: The key.
        selected: Whether the call selects it as it is.
        found: The minimal changes, those of fewest facts first.
        unreachable: Whether it is proved that no possible call selects the key.
        undecided: Whether changes may have been missed.
    """

    key: str
    selected: bool
    found: tuple[Counterfactual, ...]
    unreachable: bool = False
    undecided: bool = False


def why_not(explored: Explored, values: Values, key: str) -> WhyNot:
    """Find the minimal changes of facts after which the call *values* selects *key*.

    Every answer is asked of the real code before it is returned; one that it does not confirm
    leaves the question undecided.
    """
    model, prover = explored.model, explored.prover
    now = explored.witness(values).selection.selected
    if now is not None and now.key == key:
        return WhyNot(key, True, ())
    pins = _pins(explored, values)
    goal = model.selected(key)
    found: list[Counterfactual] = []
    undecided = any(one.unmodelled for one in model.implementations)
    with prover.assuming(goal):
        if prover.find().proved_none:
            return WhyNot(key, False, (), unreachable=True)
        with prover.switchable(list(pins.values())) as switches:
            freed = list(_minimal_sets(list(pins), switches))
        for names in freed:
            if names is None:
                undecided = True
                continue
            kept = [pin for name, pin in pins.items() if name not in names]
            answer = nearest(prover, values, *kept)
            one = (
                None if answer.values is None else _counterfactual(explored, values, answer.values)
            )
            if one is not None and _selects(one, key):
                found.append(one)
            else:
                undecided = True
    return WhyNot(key, False, tuple(found), undecided=undecided)


def _selects(one: Counterfactual, key: str) -> bool:
    selected = one.witness.selection.selected
    return selected is not None and selected.key == key


def _pins(explored: Explored, values: Values) -> Mapping[str, Term]:
    """Return what fixes each fact to its value; the device's facts change together."""
    machine = [_pin(explored, name, values[name]) for name in DEVICE_FACTS]
    own = {one.name: _pin(explored, one.name, values[one.name]) for one in explored.form.facts}
    return {_MACHINE: all_of(machine), **own}


def _pin(explored: Explored, name: str, value: Value) -> Term:
    one = explored.model.domain.fact(name)
    assert one is not None
    return equals(one, value)


def _minimal_sets(names: list[str], switches: Switches) -> Iterator[frozenset[str] | None]:
    """Yield the minimal sets of facts that must be free, smallest first; None where unsure.

    Each refusal of the solver names pins of which one must go, so most sets need no question.
    """
    conflicts: list[frozenset[str]] = []
    found: list[frozenset[str]] = []
    for size in range(1, MOST_CHANGES + 1):
        for chosen in map(frozenset, combinations(names, size)):
            if any(one <= chosen for one in found) or not all(one & chosen for one in conflicts):
                continue
            status, core = switches.check(n for n, name in enumerate(names) if name not in chosen)
            if status is Status.FOUND:
                found.append(chosen)
                yield chosen
            elif status is Status.NONE:
                conflicts.append(frozenset(names[place] for place in core))
            else:
                yield None


def _counterfactual(explored: Explored, old: Values, new: Values) -> Counterfactual:
    changes = tuple(
        Change(one.name, old[one.name], new[one.name])
        for one in explored.model.domain.all_facts
        if old[one.name] != new[one.name]
    )
    moved = any(one.fact in DEVICE_FACTS for one in changes)
    board = explored.model.domain.board_of(new) if moved else None
    return Counterfactual(changes, board, explored.witness(new))
