"""Auditing one interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tileops.introspect.audit._claims import Settled, settle
from tileops.introspect.audit._idle import dead_keys, idle_preferences
from tileops.introspect.audit._report import (
    Ambiguity,
    Doubt,
    Gap,
    InterfaceAudit,
    PlaceAudit,
    Proof,
    Raising,
    Region,
)
from tileops.introspect.formula import FALSE, Term, all_of, any_of, compiled, negate
from tileops.introspect.symbolic.exploration import Explored
from tileops.introspect.symbolic.regions import conjuncts
from tileops.selection import Candidate, Outcome, Selection, Stage

__all__ = ["audit_interface"]


def audit_interface(
    explored: Explored, accepted: Mapping[str, Term] | None = None, provided: Term = FALSE
) -> InterfaceAudit:
    """Prove what can be proved of one interface, and find calls that refute the rest.

    Args:
        explored: The interface.
        accepted: Calls that may stay unserved, by the reason.
        provided: Where an inventory has some key that is available, as if one were there still.
    """
    accepted = accepted or {}
    model = explored.model
    clashes = {pair: _clash(explored, *pair) for pair in model.unordered()}
    available = _available(explored)
    asked = _asked(explored, available, provided)
    gap = _gaps(explored, asked, any_of(accepted.values()))
    raising, doubts = _raising(explored)
    doubts += [one.doubt for one in (*clashes.values(), gap) if one.doubt is not None]
    return InterfaceAudit(
        model.op,
        model.interface,
        explored.table.candidates,
        model.domain,
        places=_places(explored, clashes, gap, available),
        ambiguities=tuple(
            _ambiguity(explored, pair, settled)
            for pair, settled in clashes.items()
            if settled.regions
        ),
        gaps=(
            *(Gap(_where(explored, one.conditions, asked), one) for one in gap.regions),
            *_accepted_gaps(explored, accepted),
        ),
        more_gaps=bool(gap.regions) and not gap.complete,
        dead=dead_keys(explored),
        idle=idle_preferences(explored),
        raising=raising,
        doubts=tuple(doubts),
        unmodelled=tuple(
            sorted({reason for one in model.implementations for reason in one.unmodelled})
        ),
        assumptions=tuple(
            sorted({note for one in model.implementations for note in one.assumptions})
        ),
    )


def _clash(explored: Explored, first: str, second: str) -> Settled:
    def tied(selection: Selection) -> bool:
        ties = {v.key for v in selection.verdicts if v.stage is Stage.TIED}
        return selection.outcome is Outcome.AMBIGUOUS and {first, second} <= ties

    claim = f"{first} and {second} never tie"
    return settle(explored, claim, explored.model.tied(first, second), tied)


def _asked(
    explored: Explored, available: Mapping[str, tuple[str, ...]], provided: Term
) -> Mapping[str, Term]:
    """Return the places where calls are to be served: those where a key is, or was, available."""
    return {
        place: condition
        for place, condition in explored.model.domain.places().items()
        if available[place] or explored.prover.find(condition, provided).found
    }


def _gaps(explored: Explored, asked: Mapping[str, Term], accepted: Term) -> Settled:
    if not asked:
        return Settled((), complete=True)

    def unserved(selection: Selection) -> bool:
        return selection.outcome in (Outcome.UNSERVED, Outcome.NO_DEVICE)

    claim = "every possible call is served"
    inside = any_of(asked.values())
    return settle(explored, claim, explored.model.unserved, unserved, inside, negate(accepted))


def _accepted_gaps(explored: Explored, accepted: Mapping[str, Term]) -> Iterable[Gap]:
    for reason, condition in accepted.items():
        settled = settle(
            explored,
            reason,
            explored.model.unserved,
            lambda selection: selection.outcome in (Outcome.UNSERVED, Outcome.NO_DEVICE),
            condition,
        )
        for region in settled.regions:
            # The solver took the condition for granted, so the region does not say it.
            said = Region(conjuncts((condition, *region.conditions)), region.witness)
            yield Gap(_where(explored, said.conditions), said, reason)


def _raising(explored: Explored) -> tuple[tuple[Raising, ...], list[Doubt]]:
    found: list[Raising] = []
    doubts: list[Doubt] = []
    for candidate in explored.table.candidates:
        raises = explored.model.implementation(candidate.key).raises
        if raises == FALSE:
            continue

        def raised(selection: Selection, key: str = candidate.key) -> bool:
            return any(v.key == key and v.stage is Stage.RAISED for v in selection.verdicts)

        claim = f"the refusal of {candidate.key} never raises"
        settled = settle(explored, claim, raises, raised)
        doubts += [settled.doubt] if settled.doubt is not None else []
        for region in settled.regions:
            verdicts = region.witness.selection.verdicts
            problem = next(v.reason for v in verdicts if v.key == candidate.key)
            found.append(Raising(candidate, region, problem or ""))
    return tuple(found), doubts


def _ambiguity(explored: Explored, pair: tuple[str, str], settled: Settled) -> Ambiguity:
    model, prover = explored.model, explored.prover
    serving = model.serving
    by_key = {one.key: one for one in explored.table.candidates}
    first, second = (by_key[key] for key in pair)

    def covers(wide: Candidate, narrow: Candidate) -> bool:
        return prover.find(serving[narrow.key], negate(serving[wide.key])).proved_none

    if covers(second, first):
        winner, loser, narrower = first, second, True
    else:
        winner, loser, narrower = second, first, covers(first, second)
    conditions = any_of(all_of(one.conditions) for one in settled.regions)
    return Ambiguity(winner, loser, _where(explored, (conditions,)), settled.regions, narrower)


def _available(explored: Explored) -> dict[str, tuple[str, ...]]:
    """Return the keys that are available at each place."""
    machines = {one.place(): one for one in explored.model.domain.machines}
    return {
        place: tuple(
            one.key
            for one in explored.table.candidates
            if machine.device_type in one.implementation.devices
            and (
                one.implementation.supported_archs is None
                or machine.arch in one.implementation.supported_archs
            )
        )
        for place, machine in machines.items()
    }


def _where(
    explored: Explored,
    conditions: tuple[Term, ...],
    places: Mapping[str, Term] | None = None,
) -> tuple[str, ...]:
    """Return the places with such calls, of all unless some are named."""
    among = explored.model.domain.places() if places is None else places
    return tuple(
        place
        for place, condition in among.items()
        if not explored.prover.find(condition, *conditions).proved_none
    )


def _places(
    explored: Explored,
    clashes: Mapping[tuple[str, str], Settled],
    gap: Settled,
    available: Mapping[str, tuple[str, ...]],
) -> tuple[PlaceAudit, ...]:
    domain, model = explored.model.domain, explored.model
    found = []
    for place, condition in domain.places().items():
        boards = tuple(m.board for m in domain.machines if m.place() == place and m.board)
        ties = {model.tied(*pair): settled for pair, settled in clashes.items()}
        unambiguous = _proof(explored, ties, condition)
        served = _proof(explored, {model.unserved: gap}, condition)
        found.append(PlaceAudit(place, boards, available[place], unambiguous, served))
    return tuple(found)


def _proof(explored: Explored, failures: Mapping[Term, Settled], place: Term) -> Proof:
    """Say of one place whether the claim holds that none of *failures* happens there."""
    prover, model = explored.prover, explored.model
    open_failures = [one for one in failures if not prover.find(one, place).proved_none]
    if not open_failures:
        return Proof.PROVED
    known = negate(any_of(one.unknown for one in model.implementations))
    shown = compiled(place)
    for one in open_failures:
        witnesses = [region.witness.values for region in failures[one].regions]
        if any(map(shown, witnesses)) or prover.find(one, known, place).found:
            return Proof.REFUTED
    return Proof.NOT_PROVED
