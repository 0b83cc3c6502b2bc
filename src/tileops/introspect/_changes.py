"""The formulas of two versions of an interface, over the calls that both have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tileops.introspect.formula import (
    Domain,
    FactDomain,
    InterfaceModel,
    Term,
    all_of,
    any_of,
    compare,
    const,
    fact,
    is_none,
    member,
    negate,
)
from tileops.introspect.symbolic.prover import Prover
from tileops.introspect.symbolic.regions import Region, regions

__all__ = ["Comparison"]


class Comparison:
    """Looks for calls of two models that come to different outcomes.

    Attributes:
        domain: The calls that both have.
        found: Old outcome, new outcome and a region of such calls.
        more: Whether some change has more regions than were looked for.
        not_compared: Keys of which too little is known.
        undecided: Changes that are neither shown nor proved not to happen.
    """

    def __init__(self, old: InterfaceModel, new: InterfaceModel) -> None:
        self._old, self._new = old, new
        self.domain = _shared_domain(old.domain, new.domain)
        self.found: list[tuple[str, str, Region]] = []
        self.more = False
        self.not_compared: tuple[str, ...] = ()
        self.undecided: tuple[str, ...] = ()

    def run(self, changed_code: Mapping[str, str], most: int) -> None:
        """Compare.

        Args:
            changed_code: Keys whose code is not modelled and has changed, and why it is not.
            most: How many regions of one change to look for.
        """
        hidden = {
            one.hidden.name: one.hidden
            for model in (self._old, self._new)
            for one in model.implementations
            if one.hidden is not None
        }
        prover = Prover(self.domain.with_facts(*hidden.values()))
        # Where unmodelled code is the same on both sides it also does the same: one hidden fact
        # stands for both. Where it changed, nothing is said of the calls that reach it.
        known = negate(any_of(self._unknown(changed_code)))
        self.not_compared = tuple(f"{key}: {why}" for key, why in changed_code.items())
        old, new = self._old.outcomes(), self._new.outcomes()
        undecided = []
        for before, was in old.items():
            stays = new.get(before)
            moved = [was] if stays is None else [was, negate(stays)]
            if prover.find(known, *moved).proved_none:
                continue
            for after, now in new.items():
                if after == before:
                    continue
                change = regions(prover, all_of((was, now)), known, most=most)
                self.found += [(before, after, one) for one in change.found]
                self.more = self.more or not change.complete
                if change.undecided and not change.found:
                    undecided.append(f"{before} -> {after}")
        self.undecided = tuple(undecided)

    def _unknown(self, keys: Iterable[str]) -> Iterator[Term]:
        for key in keys:
            yield self._old.implementation(key).unknown
            yield self._new.implementation(key).unknown


def _shared_domain(old: Domain, new: Domain) -> Domain:
    """Return the calls that both domains have; a fact that one lacks has its default there."""
    before = {one.name: one for one in old.facts}
    after = {one.name: one for one in new.facts}
    facts: list[FactDomain] = []
    conditions: list[Term] = [old.possible, new.possible]
    for name in dict.fromkeys((*before, *after)):
        sides = [side[name] for side in (before, after) if name in side]
        facts.append(_widest(sides))
        conditions += [_inside(one) for one in sides]
        if len(sides) == 1 and not sides[0].required:
            conditions.append(_equals_default(sides[0]))
    machines = {replace(one, board=None): one for one in (*new.machines, *old.machines)}
    return Domain(tuple(machines.values()), tuple(facts), all_of(conditions))


def _widest(sides: list[FactDomain]) -> FactDomain:
    first, last = sides[0], sides[-1]
    lows, highs = [one.low for one in sides], [one.high for one in sides]
    return replace(
        last,
        values=tuple(dict.fromkeys((*last.values, *first.values))),
        low=None if None in lows else min(low for low in lows if low is not None),
        high=None if None in highs else max(high for high in highs if high is not None),
        optional=first.optional or last.optional,
    )


def _inside(one: FactDomain) -> Term:
    """Return that a fact has a value of its domain."""
    if one.kind == "choice":
        return member(one.name, one.choices)
    bounds = [] if one.low is None else [compare("ge", fact(one.name), const(one.low))]
    bounds += [] if one.high is None else [compare("le", fact(one.name), const(one.high))]
    inside = all_of(bounds)
    none = is_none(one.name)
    return any_of((none, inside)) if one.optional else all_of((negate(none), inside))


def _equals_default(one: FactDomain) -> Term:
    return member(one.name, (one.default,))
