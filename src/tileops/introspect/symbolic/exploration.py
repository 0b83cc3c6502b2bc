"""From a selection table to formulas: the real code of its implementations, explored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final

from tileops.call_spec import CallSpec
from tileops.introspect.formula import (
    Domain,
    FactDomain,
    ImplementationModel,
    InterfaceModel,
    Machine,
    Unmodelled,
    Value,
    Values,
    member,
    negate,
    restricted,
)
from tileops.introspect.symbolic._call import proxy_call
from tileops.introspect.symbolic._explore import Exploration, Explorer
from tileops.introspect.symbolic._proxies import plain_text
from tileops.introspect.symbolic._run import Run
from tileops.introspect.symbolic.prover import Prover
from tileops.introspect.symbolic.spec import SpecForm, form_of, machines_of
from tileops.introspect.symbolic.tree import Leaf, condition, leaves
from tileops.selection import Candidate, Selection, SelectionTable, Stage, judge, select

__all__ = ["Explored", "Judged", "Witness", "explore"]


@dataclass(frozen=True)
class Judged:
    """What `judge` returned on one path.

    Attributes:
        stage: The stage that excludes the key; None where it applies.
        reason: The reason, symbolic numbers in it written as ``{term}``.
    """

    stage: Stage | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Explored:
    """A selection table and what its code was found to do.

    Attributes:
        table: The table.
        form: How its calls are written.
        model: The formulas.
        explorations: The decisions of each key's code.
        prover: Holds the domain, with its hidden facts.
    """

    table: SelectionTable
    form: SpecForm
    model: InterfaceModel
    explorations: Mapping[str, Exploration]
    prover: Prover

    def witness(self, values: Values) -> Witness:
        """Ask the real code about a call that formulas gave."""
        return Witness(values, select(self.table, self.form.call(values)))


@dataclass(frozen=True)
class Witness:
    """A call, and what the real code makes of it.

    Attributes:
        values: Its facts in canonical form.
        selection: What `select` decides; its ``command()`` shows it.
    """

    values: Values
    selection: Selection


def explore(
    table: SelectionTable, spec: type[CallSpec], extra: tuple[Machine, ...] = ()
) -> Explored:
    """Explore every candidate of *table* over the possible calls of *spec*.

    Args:
        table: The candidates.
        spec: The interface's call spec.
        extra: Further machines that calls may run on, beside the known boards.
    """
    implementations = [one.implementation for one in table.candidates]
    machines = tuple(dict.fromkeys((*machines_of(implementations), *extra)))
    kind: Any = spec
    domain = _possible_calls(kind, machines)
    form = form_of(spec)
    explorer = Explorer(Prover(domain), form.decode)
    explorations = {
        one.key: explorer.explore(
            partial(_judged, explorer, one, form, domain), partial(_contradiction, one, form)
        )
        for one in table.candidates
    }
    model = InterfaceModel(
        table.op,
        table.interface,
        domain,
        tuple(_modelled(one, explorations[one.key]) for one in table.candidates),
        {
            key: frozenset(other for other in explorations if table.precedence.edge(key, other))
            for key in explorations
        },
    )
    return Explored(table, form, model, explorations, Prover(model.whole_domain))


def _judged(
    explorer: Explorer, candidate: Candidate, form: SpecForm, domain: Domain, run: Run
) -> Judged:
    call = proxy_call(form.spec, domain, dict(form.unmodelled), run)
    verdict = explorer.shadow.call(judge, candidate, call)
    if verdict is None:
        return Judged()
    return Judged(verdict.stage, None if verdict.reason is None else plain_text(verdict.reason))


def _contradiction(
    candidate: Candidate, form: SpecForm, values: Values, found: Judged
) -> str | None:
    """Say how the real code, asked about a call, differs from what exploring found."""
    verdict = judge(candidate, form.call(values))
    stage = None if verdict is None else verdict.stage
    if stage is found.stage:
        return None
    said = "applies" if stage is None else f"is {stage.value}"
    explored = "applies" if found.stage is None else f"is {found.stage.value} ({found.reason})"
    return f"{said} for {form.call(values).describe()}, where exploring it finds that it {explored}"


def _modelled(candidate: Candidate, found: Exploration) -> ImplementationModel:
    unmodelled = {
        _located(leaf.unmodelled, candidate)
        for leaf in leaves(found.tree)
        if leaf.unmodelled is not None
    }
    return ImplementationModel(
        candidate.key,
        serves=condition(found.tree, lambda leaf: leaf.result == Judged()),
        raises=condition(found.tree, _raises),
        unknown=condition(found.tree, lambda leaf: leaf.unmodelled is not None),
        unmodelled=tuple(sorted(unmodelled)),
        assumptions=found.assumptions,
    )


def _located(one: Unmodelled, candidate: Candidate) -> Unmodelled:
    """Name the class where the line is of no file of its own."""
    if one.where and not one.where.startswith("tileops/selection/"):
        return one
    location = candidate.location()
    return Unmodelled(one.why, candidate.name if location is None else str(location))


def _raises(leaf: Leaf) -> bool:
    return isinstance(leaf.result, Judged) and leaf.result.stage is Stage.RAISED


_POSSIBLE: Final = "possible"
_EXCLUDED: Final = "excluded"


@cache
def _possible_calls(spec: Any, machines: tuple[Machine, ...]) -> Domain:
    """Return the domain of the calls that ``impossible()`` does not exclude.

    Where it is not known what ``impossible()`` says, calls count as possible.
    """
    form = form_of(spec)
    everything = Domain(machines, form.facts)
    explorer = Explorer(Prover(everything), form.decode)

    def classified(run: Run) -> Any:
        call = proxy_call(spec, everything, dict(form.unmodelled), run)
        try:
            excluded = explorer.shadow.call(spec.impossible, call)
        except Exception as error:
            return f"impossible() raises {type(error).__name__}"
        return _POSSIBLE if excluded is None else _EXCLUDED

    def contradiction(values: Values, result: Any) -> str | None:
        excluded = form.call(values).impossible()
        if result not in (_POSSIBLE, _EXCLUDED) or (excluded is None) == (result == _POSSIBLE):
            return None
        return "impossible() says something else where it is explored"

    found = explorer.explore(classified, contradiction)
    doubts = sorted(
        {str(leaf.unmodelled or leaf.result) for leaf in leaves(found.tree) if _is_doubtful(leaf)}
    )
    possible = negate(condition(found.tree, lambda leaf: leaf.result == _EXCLUDED))
    narrowed = _narrowed(Domain(machines, form.facts, possible))
    return replace(narrowed, unmodelled="; ".join(doubts) or None)


def _is_doubtful(leaf: Leaf) -> bool:
    return leaf.result not in (_POSSIBLE, _EXCLUDED)


def _narrowed(domain: Domain) -> Domain:
    """Drop the choices that no possible call has, so that nothing asks about them again."""
    prover = Prover(domain)
    facts = tuple(_narrowed_fact(prover, one) for one in domain.facts)
    choices = {one.name: one.choices for one in facts if one.kind == "choice"}
    return replace(domain, facts=facts, possible=restricted(domain.possible, choices))


def _narrowed_fact(prover: Prover, one: FactDomain) -> FactDomain:
    if one.kind != "choice":
        return one

    def is_open(value: Value) -> bool:
        return not prover.find(member(one.name, (value,))).proved_none

    kept = tuple(value for value in one.values if is_open(value))
    optional = one.optional and is_open(None)
    required = one.required or not (one.default in kept or (one.default is None and optional))
    listing = one.listing if kept == one.values else ""
    return replace(one, values=kept, optional=optional, required=required, listing=listing)
