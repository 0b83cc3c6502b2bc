"""The answer of ``tileops explain`` for people."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tileops.call_spec import spell
from tileops.cli._legend import MARKS, legend_lines
from tileops.cli._render import Line, Span, columns
from tileops.cli._why_not_text import condition_lines, why_not_lines
from tileops.introspect.explanation import (
    Explanation,
    Group,
    InterfaceAnswer,
    TargetAnswer,
    TensorCall,
)
from tileops.selection import Candidate, Edge, EdgeKind, Outcome, Selection, Stage, Verdict
from tileops.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from tileops.introspect.conditions import Condition

OUTCOME = {
    Outcome.UNSERVED: "unserved: no implementation serves this call",
    Outcome.AMBIGUOUS: "ambiguous: several implementations serve this call, none has precedence",
    Outcome.NO_DEVICE: "not available: no implementation runs on this device",
    Outcome.DEFECTIVE: "defective: a refusal failed",
}
"""A sentence for every outcome that selects nothing."""


def explanation_lines(answer: Explanation, whole: bool = False) -> Iterator[Line]:
    """Yield the lines of an explanation.

    Args:
        answer: The explanation.
        whole: Whether to add what the outcome does not rest on: conditions that hold, or of an
            answer for every board any, every class and the precedence.
    """
    yield (("target   ", "dim"), (target_sentence(answer.op, answer.target), ""))
    if answer.call is not None:
        yield (("call     ", "dim"), (call_sentence(answer.call), ""))
    nothing = nothing_sentence(answer)
    if nothing is not None:
        yield ((nothing, "green"),)
        return
    if answer.every_board:
        yield (("devices  ", "dim"), ("no GPU here and none named: every known board", ""))
    shown = _Shown(answer, whole)
    for one in answer.interfaces:
        yield ()
        yield from _interface_lines(shown, one)
    for name, reason in answer.impossible.items():
        yield ()
        yield ((f"{answer.op}.{name}  ", "bold"), (impossible_sentence(reason), ""))
    yield from legend_lines(answer, whole, shown.conditions)


@dataclass(frozen=True)
class _Shown:
    """An answer, and how much of it is shown."""

    answer: Explanation
    whole: bool

    def conditions(self, group: Group, key: str) -> tuple[Condition, ...]:
        """Return the conditions of a key that are shown."""
        found = group.conditions.get(key, ())
        if self.whole:
            return found
        return () if self.answer.every_board else tuple(one for one in found if not one.holds)

    def folded(self, group: Group) -> bool:
        """Whether a group, none of whose keys is for the boards' architectures, is one line."""
        stages = {one.stage for one in group.selection.verdicts}
        return self.answer.every_board and not self.whole and stages == {Stage.ARCH}


def target_sentence(op: str, target: TargetAnswer) -> str:
    """Say which target serves the op."""
    if target.choice is None:
        return f"undecided: {target.problem}"
    if target.choice.target is None:
        return f"in-tree kernels ({target.choice.source})"
    return (
        f"{target.choice.target} serves every call of {op} ({target.choice.source}); "
        "what follows applies only with the in-tree kernels"
    )


def call_sentence(call: TensorCall) -> str:
    """List the tensors and parameters of the call, those not given marked."""
    bound = call.bound
    parts = [
        f"{name} {'none' if spec is None else tensor_text(spec)}"
        for name, spec in bound.inputs.items()
    ]
    parts += [
        f"{name} {spell(value)}{' (default)' if name in call.defaulted else ''}"
        for name, value in bound.params.items()
    ]
    return (f"{call.workload}: " if call.workload else "") + ", ".join(parts)


def tensor_text(spec: TensorSpec) -> str:
    """Describe a tensor as the command line takes it."""
    text = f"{spell(spec.dtype)}{list(spec.shape)}"
    return text if spec.stride is None else f"{text}@({', '.join(map(str, spec.stride))})"


def nothing_sentence(answer: Explanation) -> str | None:
    """Say why no interface is asked, where none is."""
    if answer.runs_nothing:
        return "nothing runs: every tensor that the call writes is empty"
    return None if answer.interfaces else "this call asks for no kernel"


def impossible_sentence(reason: str) -> str:
    """Say why an interface is not asked."""
    return f"not asked, for no op makes such a call: {reason}"


def facts_sentence(answer: Explanation, one: InterfaceAnswer) -> str:
    """List the facts of the call: those given, then those that are not."""
    return facts_text(one.call.facts(), answer.defaulted)


def facts_text(facts: Mapping[str, Any], defaulted: Collection[str]) -> str:
    """List facts: those given, then those that are not."""
    texts = {name: f"{name} {spell(value)}" for name, value in facts.items()}
    given = ", ".join(text for name, text in texts.items() if name not in defaulted)
    default = ", ".join(text for name, text in texts.items() if name in defaulted)
    return (
        "; by default ".join(filter(None, (given, default))) if given else f"by default {default}"
    )


def places_sentence(group: Group) -> str:
    """List where a group's outcome holds, and say which board's facts were assumed."""
    places = ", ".join(group.places)
    if group.assumed_board is None:
        return places
    return f"{places} (facts not stated are those of {group.assumed_board})"


def outcome_sentence(answer: Explanation, selection: Selection) -> str:
    """Say what the outcome is of a selection that selects nothing."""
    if not selection.verdicts:
        why = "every key is supposed away" if answer.supposing else "it has no implementation"
        return f"not available: {why}"
    return OUTCOME[selection.outcome]


def edges_sentence(edges: tuple[Edge, ...]) -> str:
    """Say by which keys a key is outranked, and why."""
    by_reason: dict[str, list[str]] = {}
    for edge in edges:
        by_reason.setdefault(edge_reason(edge), []).append(edge.winner)
    return "; ".join(f"by {', '.join(keys)}: {reason}" for reason, keys in by_reason.items())


def edge_reason(edge: Edge) -> str:
    """Say why one key outranks another."""
    if edge.kind is EdgeKind.GENERAL:
        return f"{edge.loser} is general"
    between = edge.path[1:-1]
    return f"preferred_over through {', '.join(between)}" if between else "preferred_over"


def source_of(candidate: Candidate) -> str:
    """Say where a class that is not in the tree comes from."""
    origin = candidate.origin
    return origin.distribution or (f"module {origin.module}" if origin.module else "")


def _interface_lines(shown: _Shown, one: InterfaceAnswer) -> Iterator[Line]:
    name = f".{one.table.interface}  "
    yield ((shown.answer.op, "bold"), (name, "bold"), (_facts(shown.answer, one), ""))
    for group in one.groups:
        yield ()
        yield from _group_lines(shown, group)
    if not shown.whole:
        return
    yield ()
    yield (("candidates", "dim"),)
    yield from columns([_candidate_row(candidate) for candidate in one.table.candidates])
    edges = [_edge_row(one, edge) for edge in one.edges]
    if edges:
        yield ()
        yield (("precedence", "dim"),)
        yield from columns(edges)


def _facts(answer: Explanation, one: InterfaceAnswer) -> str:
    return facts_sentence(answer, one) if one.call.facts() else "no facts"


def reproduction(answer: Explanation, selection: Selection) -> str | None:
    """Say how to see a selection again, with what is supposed; None where that is what was typed.

    Of a call that is given as tensors it is one of the kernel requests, stated by its facts.
    """
    if answer.call is None:
        return None
    command = selection.command()
    if command is None or not answer.supposing:
        return selection.reproduction()
    return f"Reproduce it with: {command} {shlex.join(answer.supposing)}"


def _group_lines(shown: _Shown, group: Group) -> Iterator[Line]:
    selection = group.selection
    selected = selection.selected
    where = (f"on {places_sentence(group)}", "")
    if selected is not None:
        note = "the general implementation, " if selected.candidate.implementation.general else ""
        yield (("selected ", "green"), (f"{selected.key}  ", "bold green"), (note + where[0], ""))
    else:
        yield ((f"{outcome_sentence(shown.answer, selection)}  ", "bold red"), where)
    if shown.folded(group):
        yield _folded_row(group)
    else:
        yield from _verdict_lines(shown, group)
    if group.why_not is not None:
        yield from why_not_lines(shown.answer, group.why_not)


def _verdict_lines(shown: _Shown, group: Group) -> Iterator[Line]:
    selection = group.selection
    rows = zip(selection.verdicts, group.reasons, strict=True)
    verdicts = columns([_verdict_row(verdict, reason) for verdict, reason in rows])
    for line, verdict in zip(verdicts, selection.verdicts, strict=True):
        yield line
        yield from condition_lines(shown.conditions(group, verdict.key))
    if selection.outcome is Outcome.NO_DEVICE and selection.call.device_type is None:
        yield ((f"  {_ELSEWHERE}", "yellow"),)
    again = reproduction(shown.answer, selection)
    if selection.selected is None and again is not None:
        yield ((f"  {again}", "dim"),)


_ELSEWHERE = "this machine has no accelerator; --gpu h200 or --arch 90 asks about another one"


def _folded_row(group: Group) -> Line:
    candidates = [one.candidate.implementation for one in group.selection.verdicts]
    archs = sorted({arch for one in candidates for arch in one.supported_archs or ()})
    count = len(candidates)
    who = "all keys are" if count > 1 else "its key is"
    mark, style = MARKS[Stage.ARCH]
    return ((f"  {mark} {who} for arch ", style), (", ".join(map(str, archs)), ""))


def _verdict_row(verdict: Verdict, reason: str | None) -> Line:
    mark, style = MARKS[verdict.stage]
    text = edges_sentence(verdict.edges) if verdict.edges else reason or ""
    return (
        (f"  {mark} {verdict.key}", style),
        (verdict.stage.value.ljust(len(Stage.OUTRANKED.value)), style),
        (_class_of(verdict.candidate), "dim") if verdict.stage is Stage.SELECTED else (text, ""),
    )


def _class_of(candidate: Candidate) -> str:
    source = source_of(candidate)
    place = f"{candidate.name}, {candidate.location() or 'no source'}"
    return f"{place}, from {source}" if source else place


def _candidate_row(candidate: Candidate) -> Line:
    source = source_of(candidate)
    notes = ["general"] if candidate.implementation.general else []
    notes += [f"from {source}"] if source else []
    return (
        (f"    {candidate.key}", ""),
        (candidate.name, ""),
        (str(candidate.location() or "no source"), "dim"),
        (", ".join(notes), "dim"),
    )


def _edge_row(one: InterfaceAnswer, edge: Edge) -> Line:
    decided: Span = ("decided here", "bold green") if edge in one.decided else ("", "")
    style = "" if edge in one.decided else "dim"
    return (
        (f"    {edge.winner}", style),
        (f"> {edge.loser}", style),
        (edge_reason(edge), style),
        decided,
    )
