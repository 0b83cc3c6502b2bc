"""Keys that are never selected, and preferences that never matter."""

from __future__ import annotations

from tileops.introspect.audit._report import Dead, IdlePreference
from tileops.introspect.formula import negate
from tileops.introspect.symbolic.exploration import Explored, Witness
from tileops.introspect.symbolic.witness import minimal
from tileops.selection import Stage

__all__ = ["dead_keys", "idle_preferences"]


def dead_keys(explored: Explored) -> tuple[Dead, ...]:
    """Return the keys that are proved to be selected by no possible call."""
    model, prover = explored.model, explored.prover
    found = []
    for candidate in explored.table.candidates:
        key = candidate.key
        # A key that never wins only because it always ties is ambiguous, and reported as that.
        if not prover.find(model.unbeaten(key)).proved_none:
            continue
        if prover.find(model.serving[key]).proved_none:
            found.append(Dead(candidate, applies=False))
            continue
        rivals = [one for one in model.keys if key in model.outranks[one]]
        core = prover.core([negate(model.serving[one]) for one in rivals], model.serving[key])
        blockers = tuple(rivals[place] for place in core) if core is not None else tuple(rivals)
        found.append(Dead(candidate, True, blockers, _outranked(explored, key)))
    return tuple(found)


def _outranked(explored: Explored, key: str) -> Witness | None:
    """Return the plainest call that a key applies to, if the real code outranks it there."""
    values = minimal(explored.prover, explored.model.serving[key]).values
    if values is None:
        return None
    witness = explored.witness(values)
    stages = {one.key: one.stage for one in witness.selection.verdicts}
    return witness if stages[key] is Stage.OUTRANKED else None


def idle_preferences(explored: Explored) -> tuple[IdlePreference, ...]:
    """Return the stated preferences between keys that are proved never both to apply."""
    serving = explored.model.serving
    return tuple(
        IdlePreference(candidate, loser)
        for candidate in explored.table.candidates
        for loser in sorted(candidate.implementation.preferred_over)
        if explored.prover.find(serving[candidate.key], serving[loser]).proved_none
    )
