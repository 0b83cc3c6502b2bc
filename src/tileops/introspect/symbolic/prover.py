"""Questions about formulas: is there such a call, and why is there none?

Every answer is a call, a proof that there is none, or UNKNOWN; z3's effort is bounded by a count
of its own steps, never by time, so answers are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import z3

from tileops.introspect.formula import Domain, Term, Values
from tileops.introspect.symbolic._translation import Translation

__all__ = ["EFFORT", "Answer", "Prover", "Status"]

EFFORT: Final = 400_000
"""Steps of z3 for one question: a second or two for the hardest."""


class Status(Enum):
    """What became of a question."""

    FOUND = "found"
    NONE = "none"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Answer:
    """Whether there is such a call, and one of them."""

    status: Status
    values: Values | None = None

    @property
    def found(self) -> bool:
        """Whether a call was found."""
        return self.status is Status.FOUND

    @property
    def proved_none(self) -> bool:
        """Whether it is proved that there is none."""
        return self.status is Status.NONE


class Prover:
    """A solver that holds the domain of an interface's calls."""

    def __init__(self, domain: Domain, effort: int = EFFORT) -> None:
        self.domain = domain
        self.translation = Translation(domain)
        self._solver = z3.SimpleSolver()
        self._solver.set("rlimit", effort)
        self._solver.add(*self.translation.ranges(), self.translation(domain.axiom()))

    def find(self, *terms: Term) -> Answer:
        """Look for a call of the domain that satisfies all *terms*."""
        return self.check(*(self.translation(term) for term in terms))

    def check(self, *expressions: Any) -> Answer:
        """Look for a call that satisfies z3 *expressions* too."""
        self._solver.push()
        self._solver.add(*expressions)
        status = self._solver.check()
        found = self._solver.model() if status == z3.sat else None
        self._solver.pop()
        if found is not None:
            return Answer(Status.FOUND, self.translation.values(found))
        return Answer(Status.NONE if status == z3.unsat else Status.UNKNOWN)

    def steps(self) -> int:
        """Return the steps that z3 has taken so far, in all."""
        statistics = self._solver.statistics()
        known = "rlimit count" in statistics.keys()  # noqa: SIM118
        return int(statistics.get_key_value("rlimit count")) if known else 0

    def enter(self, *expressions: Any) -> None:
        """Let every later question assume z3 *expressions*, until `leave`."""
        self._solver.push()
        self._solver.add(*expressions)

    def leave(self, levels: int = 1) -> None:
        """Take back the last *levels* of `enter`."""
        if levels:
            self._solver.pop(levels)

    @contextmanager
    def assuming(self, *terms: Term) -> Iterator[None]:
        """Let the questions inside assume *terms*."""
        self.enter(*(self.translation(term) for term in terms))
        try:
            yield
        finally:
            self.leave()

    def core(self, literals: Sequence[Term], *terms: Term) -> tuple[int, ...] | None:
        """Return the places of a minimal part of *literals* that no call satisfies with *terms*.

        Returns:
            The places, or None when some call satisfies them all or nothing is known.
        """
        with self.assuming(*terms):
            marks = [z3.Bool(f"literal {place}") for place in range(len(literals))]
            self.enter(
                *(
                    z3.Implies(mark, self.translation(one))
                    for mark, one in zip(marks, literals, strict=True)
                )
            )
            try:
                return self._minimal_core(marks)
            finally:
                self.leave()

    def _minimal_core(self, marks: Sequence[Any]) -> tuple[int, ...] | None:
        if self._solver.check(*marks) != z3.unsat:
            return None
        needed = self._unsatisfiable(marks)
        for mark in list(needed):
            rest = [one for one in needed if not one.eq(mark)]
            if len(rest) < len(needed) and self._solver.check(*rest) == z3.unsat:
                kept = self._unsatisfiable(rest)
                needed = [one for one in rest if any(one.eq(k) for k in kept)]
        return tuple(place for place, mark in enumerate(marks) if any(mark.eq(n) for n in needed))

    def _unsatisfiable(self, marks: Sequence[Any]) -> list[Any]:
        core = self._solver.unsat_core()
        return [mark for mark in marks if any(mark.eq(one) for one in core)]
