"""Settling a claim: by proof, by a confirmed counterexample, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tileops.introspect.audit._report import Doubt, Region
from tileops.introspect.calls import sample_calls
from tileops.introspect.formula import Term, Unmodelled, all_of, any_of, compiled, negate
from tileops.introspect.symbolic.exploration import Explored
from tileops.introspect.symbolic.regions import regions
from tileops.selection import Selection

__all__ = ["TRIED", "Settled", "settle"]

TRIED: Final = 3000
"""How many concrete calls are tried for a counterexample that no formula gives."""


@dataclass(frozen=True)
class Settled:
    """The confirmed counterexamples of a claim, and the doubt that is left.

    Attributes:
        regions: Where the claim fails.
        complete: Whether it is proved to fail nowhere else.
        doubt: Why it is neither proved nor refuted.
    """

    regions: tuple[Region, ...]
    complete: bool
    doubt: Doubt | None = None


def settle(
    explored: Explored,
    claim: str,
    fails: Term,
    confirms: Callable[[Selection], bool],
    *within: Term,
) -> Settled:
    """Look for calls where a claim fails.

    Args:
        explored: The interface.
        claim: The claim in words.
        fails: Where it fails.
        confirms: Whether the real code's answer to a call shows the failure.
        within: The part of the domain that the claim is about.
    """
    prover, model = explored.prover, explored.model
    unknown = any_of(one.unknown for one in model.implementations)
    # Code that is not understood may do either: first look where everything is understood.
    sure = regions(prover, fails, negate(unknown), *within)
    found = [Region(one.conditions, explored.witness(one.witness)) for one in sure.found]
    confirmed = tuple(one for one in found if confirms(one.witness.selection))
    unconfirmed = len(confirmed) < len(found) or sure.undecided
    if not unconfirmed and prover.find(fails, unknown, *within).proved_none:
        return Settled(confirmed, sure.complete)
    if confirmed:
        return Settled(confirmed, complete=False)
    shown = _tried(explored, confirms, within)
    if shown is not None:
        return Settled((shown,), complete=False)
    return Settled((), complete=False, doubt=Doubt(claim, _reasons(explored), TRIED))


def _tried(
    explored: Explored, confirms: Callable[[Selection], bool], within: tuple[Term, ...]
) -> Region | None:
    inside = compiled(all_of(within))
    for values in sample_calls(explored.model, TRIED):
        if not inside(values) or explored.form.call(values).impossible() is not None:
            continue
        witness = explored.witness(values)
        if confirms(witness.selection):
            return Region((), witness)
    return None


def _reasons(explored: Explored) -> tuple[Unmodelled, ...]:
    found = {reason for one in explored.model.implementations for reason in one.unmodelled}
    domain = explored.model.domain.unmodelled
    return tuple(sorted(found | ({Unmodelled(domain, "impossible()")} if domain else set())))
