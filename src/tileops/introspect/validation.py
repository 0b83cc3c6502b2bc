"""Formulas against the code they stand for, call by call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tileops.introspect.calls import sample_calls
from tileops.introspect.formula import Values, any_of, compiled
from tileops.introspect.symbolic.exploration import Explored
from tileops.introspect.symbolic.witness import minimal
from tileops.selection import Outcome, Selection, Stage, select

__all__ = ["Disagreement", "Validation", "disagreements", "validate"]


@dataclass(frozen=True)
class Disagreement:
    """A call that a formula and the code see differently.

    Attributes:
        interface: The interface of the op.
        subject: The key, or ``selection`` for the outcome as a whole.
        facts: The call.
        formula: What the formula says.
        code: What the code says.
    """

    interface: str
    subject: str
    facts: str
    formula: str
    code: str


@dataclass(frozen=True)
class Validation:
    """How many calls were tried, and the disagreements."""

    calls: int
    disagreements: tuple[Disagreement, ...]


def validate(explored: Explored, count: int, seed: int = 0) -> Validation:
    """Compare formulas and code on *count* random and boundary calls."""
    calls = list(sample_calls(explored.model, count, seed, _plain_calls(explored)))
    return Validation(len(calls), tuple(disagreements(explored, calls)))


def _plain_calls(explored: Explored) -> list[Values]:
    """Return the plainest call of every outcome and of every key."""
    model = explored.model
    terms = (*model.outcomes().values(), *(one.serves for one in model.implementations))
    answers = [minimal(explored.prover, term) for term in dict.fromkeys(terms)]
    names = [one.name for one in model.domain.all_facts]
    return [
        {name: answer.values[name] for name in names}
        for answer in answers
        if answer.values is not None
    ]


def disagreements(explored: Explored, calls: Iterable[Values]) -> Iterator[Disagreement]:
    """Yield every difference between what formulas and `select` say of *calls*."""
    model = explored.model
    keys = [(one, compiled(one.serves), compiled(one.raises)) for one in model.implementations]
    outcomes = {name: compiled(term) for name, term in model.outcomes().items()}
    unknown = compiled(any_of(one.unknown for one in model.implementations))
    for values in calls:
        call = explored.form.call(values)
        selection = select(explored.table, call)
        found: list[tuple[str, str, str]] = []
        for verdict, (one, serves, raises) in zip(selection.verdicts, keys, strict=True):
            said = "raises" if raises(values) else "applies" if serves(values) else "is excluded"
            done = _what(verdict.stage)
            if said != done and not compiled(one.unknown)(values):
                found.append((one.key, said, done))
        if not unknown(values):
            said = " and ".join(name for name, holds in outcomes.items() if holds(values))
            if said != _outcome(selection):
                found.append(("selection", said, _outcome(selection)))
        reason = call.impossible()
        if reason is not None and model.domain.unmodelled is None:
            found.append(("impossible", "is possible", reason))
        for subject, said, done in found:
            yield Disagreement(model.interface, subject, call.describe(), said, done)


def _what(stage: Stage) -> str:
    if stage is Stage.RAISED:
        return "raises"
    return "applies" if stage.applicable else "is excluded"


def _outcome(selection: Selection) -> str:
    if selection.selected is not None:
        return f"key:{selection.selected.key}"
    names = {Outcome.AMBIGUOUS: "ambiguous", Outcome.DEFECTIVE: "defective"}
    return names.get(selection.outcome, "unserved")
