"""The answer of ``tileops explain`` for people."""

from __future__ import annotations

from collections.abc import Iterator

from tileops.call_spec import spell
from tileops.cli._render import Line
from tileops.introspect.explanation import Explanation, Group, InterfaceAnswer, TargetAnswer
from tileops.selection import Edge, EdgeKind, Outcome, Stage, Verdict

_MARK = {
    Stage.SELECTED: ("*", "bold green"),
    Stage.TIED: ("?", "bold yellow"),
    Stage.OUTRANKED: ("o", "cyan"),
    Stage.RAISED: ("!", "bold red"),
}


def explanation_lines(answer: Explanation) -> Iterator[Line]:
    """Yield the lines of an explanation."""
    yield (("target     ", "dim"), (target_sentence(answer.op, answer.target), ""))
    if answer.every_board:
        yield (("devices    ", "dim"), ("no GPU here and none named: every known board", ""))
    for one in answer.interfaces:
        yield ()
        yield from _interface_lines(answer, one)


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


def facts_sentence(answer: Explanation, one: InterfaceAnswer) -> str:
    """List the facts of the call, those not given marked."""
    return ", ".join(
        f"{name} {spell(value)}{' (default)' if name in answer.defaulted else ''}"
        for name, value in one.call.facts().items()
    )


def _interface_lines(answer: Explanation, one: InterfaceAnswer) -> Iterator[Line]:
    facts = facts_sentence(answer, one)
    yield ((answer.op, "bold"), (".", ""), (one.table.interface, "bold"), (f"  {facts}", ""))
    for group in one.groups:
        yield ()
        yield from _group_lines(group)
    edges = list(_precedence_lines(one))
    if edges:
        yield ()
        yield (("precedence", "dim"),)
        yield from edges


def _group_lines(group: Group) -> Iterator[Line]:
    selection = group.selection
    where = f"  on {', '.join(group.places)}"
    if group.assumed_board is not None:
        where += f" (facts not stated are those of {group.assumed_board})"
    selected = selection.selected
    if selected is not None:
        note = ", the general implementation" if selected.candidate.implementation.general else ""
        yield (("selected ", "green"), (selected.key, "bold green"), (note, "yellow"), (where, ""))
    else:
        yield ((_SENTENCE[selection.outcome], "bold red"), (where, ""))
    width = max((len(v.key) for v in selection.verdicts), default=0)
    for verdict in selection.verdicts:
        yield _verdict_line(verdict, width)
    if selected is None:
        yield (("  ", ""), (selection.reproduction(), "dim"))


_SENTENCE = {
    Outcome.UNSERVED: "unserved: no implementation serves this call",
    Outcome.AMBIGUOUS: "ambiguous: several implementations serve this call, none has precedence",
    Outcome.NO_DEVICE: "not available: no implementation runs on this device",
    Outcome.DEFECTIVE: "defective: a refusal failed",
}


def _verdict_line(verdict: Verdict, width: int) -> Line:
    mark, style = _MARK.get(verdict.stage, ("x", "red"))
    reason = verdict.reason or ""
    if verdict.edges:
        reason = "; ".join(
            f"{edge.winner} outranks it: {_edge_reason(edge)}" for edge in verdict.edges
        )
    origin = verdict.candidate.origin
    source = origin.distribution or (origin.module and f"module {origin.module}")
    parts = [verdict.candidate.name, str(verdict.candidate.location() or "no source")]
    parts += [f"from {source}"] if source else []
    return (
        (f"  {mark} ", style),
        (verdict.key.ljust(width), "bold"),
        (f"  {verdict.stage.value.ljust(9)}  ", style),
        (f"{reason}  " if reason else "", ""),
        ("  ".join(parts), "dim"),
    )


def _edge_reason(edge: Edge) -> str:
    if edge.kind is EdgeKind.GENERAL:
        return f"{edge.loser} is general"
    return "preferred_over" + (f" through {' > '.join(edge.path)}" if len(edge.path) > 2 else "")


def _precedence_lines(one: InterfaceAnswer) -> Iterator[Line]:
    """Yield every edge of the interface, the ones that decided some group marked."""
    decided = {
        (edge.winner, edge.loser)
        for group in one.groups
        for verdict in group.selection.verdicts
        for edge in verdict.edges
    }
    for reached in one.table.precedence.edges.values():
        for edge in reached.values():
            mark = "  decided here" if (edge.winner, edge.loser) in decided else ""
            yield (
                (f"  {edge.winner} > {edge.loser}  ", ""),
                (_edge_reason(edge), "dim"),
                (mark, "bold green"),
            )
