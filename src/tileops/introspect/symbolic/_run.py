"""One execution of real code on a proxy call, and the decisions that steer it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NoReturn, Protocol, cast

from tileops.introspect.formula import (
    FactDomain,
    Term,
    Unmodelled,
    Value,
    Values,
    compare,
    const,
    fact,
    member,
    negate,
)
from tileops.introspect.symbolic.tree import Site

__all__ = ["MOST_DECISIONS", "Decision", "Opaque", "Run", "Steering"]

MOST_DECISIONS = 200
"""A path with more decisions than this is given up: a loop over a symbolic number, mostly."""

_OWN_FOLDER = str(Path(__file__).parent)


class Opaque(BaseException):
    """The code did something that is not modelled.

    No ``Exception``, so that no ``except Exception`` of the code takes it for a failure of its own.
    """

    def __init__(self, unmodelled: Unmodelled) -> None:
        self.unmodelled = unmodelled
        super().__init__(str(unmodelled))


@dataclass(frozen=True)
class Decision:
    """One point where calls part: a condition, or a fact that is read.

    Attributes:
        subject: The condition, or the name of the fact.
        options: What holds on each side; for a condition, itself and its opposite.
        values: The fact's value on each side.
        taken: The place of the side taken.
        site: The line of code.
    """

    subject: Term | str
    options: tuple[Term, ...]
    values: tuple[Value, ...]
    taken: int
    site: Site = field(compare=False)


class Steering(Protocol):
    """Whoever decides which side an execution takes."""

    def is_modelled(self, code: CodeType) -> bool:
        """Whether the code is a copy made for exploration, or belongs to it."""

    def decode(self, name: str, value: Value) -> Any:
        """Return the real value of a fact of finite kind."""

    def choose(self, run: Run, options: Sequence[Term]) -> int:
        """Return the side to take, and keep the other possible ones for later executions."""


class Run:
    """One execution. Proxies ask it; it records what was decided.

    Args:
        steering: Decides beyond *prefix*.
        prefix: The decisions to repeat.

    Attributes:
        decisions: What was decided so far.
        unmodelled: Why the execution was given up, even where the code caught it.
        assumptions: What its formulas take for granted.
        model: A call that goes this way, if one is known; kept by the steering.
        siblings: The sides that other calls take: decision, side, and such a call.
    """

    def __init__(self, steering: Steering, prefix: Sequence[Decision] = ()) -> None:
        self._steering = steering
        self._prefix = prefix
        self._settled: dict[Term, bool] = {}
        self._picked: dict[str, Value] = {}
        self.decisions: list[Decision] = []
        self.unmodelled: Unmodelled | None = None
        self.assumptions: dict[str, None] = {}
        self.model: Values | None = None
        self.siblings: list[tuple[int, int, Values | None]] = []

    def branch(self, condition: Term, site: Site | None = None) -> bool:
        """Return the truth of a condition, taking one side of it.

        Args:
            condition: The condition.
            site: The line that states it, where that is not the line that is being run.
        """
        if condition.op == "const":
            return bool(condition.args[0])
        settled = self._settled.get(condition)
        if settled is None:
            opposite = negate(condition)
            settled = self._decide(condition, (condition, opposite), (), site) == 0
            self._settled[condition] = settled
            self._settled[opposite] = not settled
        return settled

    def pick(self, one: FactDomain) -> Any:
        """Return one value of a fact that has finitely many, as the code would see it."""
        if one.name not in self._picked:
            if one.kind == "choice":
                values = one.choices
                options = tuple(member(one.name, (value,)) for value in values)
            else:
                values = tuple(value for value in one.countable if value is not None)
                number = fact(one.name)
                options = tuple(compare("eq", number, const(cast(int, v))) for v in values)
            taken = self._decide(one.name, options, values)
            self._picked[one.name] = values[taken]
        value = self._picked[one.name]
        return self._steering.decode(one.name, value) if one.kind == "choice" else value

    def assume(self, assumption: str) -> None:
        """Note what the formulas take for granted from here on."""
        self.assumptions.setdefault(f"{assumption} at {self.site()}")

    def give_up(self, why: str) -> NoReturn:
        """Leave the execution: the code does something that is not modelled.

        Raises:
            Opaque: Always.
        """
        # Kept as well as raised, since a bare ``except`` of the code may swallow it.
        self.unmodelled = self.unmodelled or Unmodelled(why, str(self.site()))
        raise Opaque(self.unmodelled)

    def site(self) -> Site:
        """Return the line of the code under exploration that is being run."""
        frame = _user_frame()
        return _site(frame) if frame is not None else Site("", 0, "")

    def _decide(
        self,
        subject: Term | str,
        options: tuple[Term, ...],
        values: tuple[Value, ...],
        site: Site | None = None,
    ) -> int:
        place = len(self.decisions)
        if place >= MOST_DECISIONS:
            self.give_up(f"takes more than {MOST_DECISIONS} decisions")
        frame = _user_frame()
        if frame is not None and not self._steering.is_modelled(frame.f_code):
            self.give_up(f"runs {frame.f_code.co_qualname}, whose source is not to be had")
        if place < len(self._prefix):
            repeated = self._prefix[place]
            if (repeated.subject, repeated.options) != (subject, options):
                self.give_up("does not answer the same way when it runs again")
            taken = repeated.taken
        else:
            taken = self._steering.choose(self, options)
        site = site or self.site()
        self.decisions.append(Decision(subject, options, values, taken, site))
        return taken


def _user_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_FOLDER):
        frame = frame.f_back
    return frame


def _site(frame: FrameType) -> Site:
    parts = str(frame.f_globals.get("__name__", "")).split(".")
    name = frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    folders = parts if name == "__init__.py" else parts[:-1]
    return Site("/".join([*folders, name]), frame.f_lineno, frame.f_code.co_qualname)
