"""Exploring code: run it again and again until every side of every decision has been taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any, Final

from tileops.introspect.formula import Term, Unmodelled, Value, Values, evaluate
from tileops.introspect.symbolic._run import Decision, Opaque, Run
from tileops.introspect.symbolic._shadow import Shadow
from tileops.introspect.symbolic.prover import Prover
from tileops.introspect.symbolic.tree import Branch, Choice, Leaf, Node

__all__ = ["MOST_PATHS", "Exploration", "Explorer"]

MOST_PATHS: Final = 1000
"""Code with more paths than this is given up; what is left of it counts as not modelled."""

MOST_STEPS: Final = 1_500_000
"""Steps of z3 that exploring one function may take, likewise."""

_UNSTEADY: Final = "does not answer the same way when it runs again"

Decode = Callable[[str, Value], Any]


@dataclass(frozen=True)
class Exploration:
    """The tree of a function's decisions.

    Attributes:
        tree: Every path that some call of the domain takes.
        paths: How many there are.
        assumptions: What the formulas take for granted.
    """

    tree: Node
    paths: int
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class _Path:
    decisions: tuple[Decision, ...]
    leaf: Leaf
    assumptions: tuple[str, ...] = ()
    values: Values | None = None


@dataclass(frozen=True)
class _Pending:
    """A side not taken yet: the decisions that lead there, and a call that goes there."""

    decisions: tuple[Decision, ...]
    model: Values | None


class Explorer:
    """Explores functions over the calls of one domain.

    Args:
        prover: Holds the domain.
        decode: Returns the real value of a fact of finite kind.
    """

    def __init__(self, prover: Prover, decode: Decode) -> None:
        self.shadow = Shadow()
        self.decode = decode
        self._prover = prover
        self._entered: list[Term] = []
        self._pending: list[_Pending] = []

    def explore(
        self, function: Callable[[Run], Any], confirm: Callable[[Values, Any], str | None]
    ) -> Exploration:
        """Run *function* along every path.

        It is run twice along each; where the second run decides or ends otherwise, the function
        depends on more than its call, and the path counts as not modelled. So it does where the
        real code, asked about one call of the path, says something else.

        Args:
            function: What to explore.
            confirm: Given a call and what a path returned, says how the real code contradicts
                it, or None.
        """
        first = self._prover.find()
        begun = self._prover.steps()
        self._pending = [_Pending((), first.values)]
        paths: list[_Path] = []
        assumptions: dict[str, None] = {}
        explored = 0
        while self._pending:
            start = self._pending.pop()
            if explored >= MOST_PATHS or self._prover.steps() - begun > MOST_STEPS:
                why = Unmodelled(f"has too many paths ({explored} explored)", "")
                paths.append(_Path(start.decisions, Leaf(None, why)))
                continue
            explored += 1
            self._move_to(start.decisions)
            path = self._run(function, start)
            assumptions |= dict.fromkeys(path.assumptions)
            path = self._repeated(function, path)
            paths.append(self._confirmed(confirm, path))
        self._move_to(())
        return Exploration(_tree(paths, 0), explored, tuple(assumptions))

    # What a run asks.

    def is_modelled(self, code: CodeType) -> bool:
        """Whether the code is a copy."""
        return self.shadow.is_modelled(code)

    def choose(self, run: Run, options: Sequence[Term]) -> int:
        """Take a side that some call takes, and keep the others for later."""
        open_sides = self._open_sides(run.model, options)
        if not open_sides:
            run.give_up("is on a path that no call was found for")
        taken, *others = open_sides
        run.model = open_sides[taken]
        run.siblings += [(len(run.decisions), side, open_sides[side]) for side in others]
        self._enter(options[taken])
        return taken

    # Internals.

    def _open_sides(
        self, model: Values | None, options: Sequence[Term]
    ) -> dict[int, Values | None]:
        found: dict[int, Values | None] = {}
        here = None
        if model is not None:
            here = next((n for n, one in enumerate(options) if evaluate(one, model)), None)
        if here is not None:
            found[here] = model
        for side, option in enumerate(options):
            if side == here:
                continue
            answer = self._prover.find(option)
            if not answer.proved_none:
                found[side] = answer.values
        return found

    def _enter(self, term: Term) -> None:
        self._entered.append(term)
        self._prover.enter(self._prover.translation(term))

    def _move_to(self, decisions: Sequence[Decision]) -> None:
        """Let the prover assume what holds after *decisions*."""
        wanted = [one.options[one.taken] for one in decisions]
        shared = 0
        for one, other in zip(self._entered, wanted, strict=False):
            if one != other:
                break
            shared += 1
        self._prover.leave(len(self._entered) - shared)
        del self._entered[shared:]
        for term in wanted[shared:]:
            self._enter(term)

    def _run(self, function: Callable[[Run], Any], start: _Pending) -> _Path:
        run = Run(self, start.decisions)
        run.model = start.model
        leaf = _outcome(function, run, self.shadow)
        decisions = tuple(run.decisions)
        values = run.model or self._prover.find().values
        if len(decisions) < len(start.decisions):
            why = leaf.unmodelled or Unmodelled(_UNSTEADY, _where(start.decisions))
            return _Path(start.decisions, Leaf(None, why))
        for place, side, model in run.siblings:
            turned = decisions[place]
            other = Decision(turned.subject, turned.options, turned.values, side, turned.site)
            self._pending.append(_Pending((*decisions[:place], other), model))
        return _Path(decisions, leaf, tuple(run.assumptions), values)

    def _repeated(self, function: Callable[[Run], Any], path: _Path) -> _Path:
        again = Run(_Repetition(self), path.decisions)
        leaf = _outcome(function, again, self.shadow)
        if path.leaf.unmodelled is None and (
            leaf != path.leaf or tuple(again.decisions) != path.decisions
        ):
            why = leaf.unmodelled or Unmodelled(_UNSTEADY, _where(path.decisions))
            return replace(path, leaf=Leaf(None, why))
        return path

    def _confirmed(self, confirm: Callable[[Values, Any], str | None], path: _Path) -> _Path:
        if path.leaf.unmodelled is not None or path.values is None:
            return path
        contradiction = confirm(path.values, path.leaf.result)
        if contradiction is None:
            return path
        why = Unmodelled(contradiction, _where(path.decisions))
        return replace(path, leaf=Leaf(None, why))


class _Repetition:
    """Steers a run that repeats a whole path and must not go beyond it."""

    def __init__(self, explorer: Explorer) -> None:
        self.is_modelled = explorer.is_modelled
        self.decode = explorer.decode

    def choose(self, run: Run, options: Sequence[Term]) -> int:
        """Give up: the first run took no further decision here."""
        run.give_up(_UNSTEADY)


def _outcome(function: Callable[[Run], Any], run: Run, shadow: Shadow) -> Leaf:
    shadow.run = run
    try:
        result = function(run)
    except Opaque:
        result = None
    if run.unmodelled is not None:
        return Leaf(None, run.unmodelled)
    return Leaf(result)


def _where(decisions: Sequence[Decision]) -> str:
    return str(decisions[-1].site) if decisions else ""


def _tree(paths: Sequence[_Path], depth: int) -> Node:
    first = paths[0]
    if len(first.decisions) <= depth:
        return first.leaf
    decision = first.decisions[depth]
    sides: dict[int, list[_Path]] = {}
    for path in paths:
        sides.setdefault(path.decisions[depth].taken, []).append(path)
    arms = {side: _tree(group, depth + 1) for side, group in sorted(sides.items())}
    if isinstance(decision.subject, Term):
        return Branch(decision.subject, decision.site, arms.get(0), arms.get(1))
    return Choice(
        decision.subject,
        decision.site,
        tuple((decision.values[side], arm) for side, arm in arms.items()),
    )
