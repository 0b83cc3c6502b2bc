"""Questions about formulas: is there such a call, and why is there none?

Every answer is a call, a proof that there is none, or UNKNOWN; z3's effort is bounded by a count
of its own steps, never by time, so answers are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import z3

from tileops.introspect.formula import Domain, Term, Values
from tileops.introspect.symbolic._translation import Translation

__all__ = ["EFFORT", "Answer", "Prover", "Status", "Switches"]

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
        # The default solver of arithmetic corrupts its memory on questions that are asked in
        # levels, as z3 4.15.4 showed for remainders.
        self._solver.set("arith.solver", 2)
        self._solver.add(*self.translation.ranges(), self.translation(domain.axiom))

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
        with self.assuming(*terms), self.switchable(literals) as switches:
            status, needed = switches.check(range(len(literals)))
            if status is not Status.NONE:
                return None
            for place in needed:
                rest = [one for one in needed if one != place]
                if len(rest) < len(needed):
                    status, smaller = switches.check(rest)
                    needed = smaller if status is Status.NONE else needed
            return needed

    @contextmanager
    def switchable(self, literals: Sequence[Term]) -> Iterator[Switches]:
        """Let the questions inside assume any part of *literals*."""
        switches = Switches(self._solver, len(literals))
        self.enter(
            *(
                z3.Implies(mark, self.translation(one))
                for mark, one in zip(switches.marks, literals, strict=True)
            )
        )
        try:
            yield switches
        finally:
            self.leave()


class Switches:
    """Terms that each question assumes or not."""

    def __init__(self, solver: Any, count: int) -> None:
        self._solver = solver
        self.marks = [z3.Bool(f"switch {place}") for place in range(count)]

    def check(self, on: Iterable[int]) -> tuple[Status, tuple[int, ...]]:
        """Look for a call that satisfies the terms at the places *on*.

        Returns:
            What became of it; where there is none, also a part of *on* that suffices for that.
        """
        status = self._solver.check(*(self.marks[place] for place in on))
        if status == z3.sat:
            return Status.FOUND, ()
        if status != z3.unsat:
            return Status.UNKNOWN, ()
        core = {str(one) for one in self._solver.unsat_core()}
        return Status.NONE, tuple(n for n, one in enumerate(self.marks) if str(one) in core)
