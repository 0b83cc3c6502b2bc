"""The answer of ``tileops explain`` as Markdown, for documents and pull requests."""

from __future__ import annotations

from tileops.cli._explain_text import (
    OUTCOME,
    edge_reason,
    edges_sentence,
    facts_sentence,
    places_sentence,
    target_sentence,
)
from tileops.introspect.explanation import Explanation, Group, InterfaceAnswer
from tileops.selection import Verdict


def explanation_markdown(answer: Explanation) -> str:
    """Return a heading per interface, a table per group of devices and the precedence."""
    parts = [f"Target: {_escaped(target_sentence(answer.op, answer.target))}\n"]
    if answer.every_board:
        parts.append("No GPU here and none named: every known board.\n")
    parts += [_interface(answer, one) for one in answer.interfaces]
    return "\n".join(parts)


def _interface(answer: Explanation, one: InterfaceAnswer) -> str:
    parts = [f"### `{answer.op}.{one.table.interface}`\n", f"{facts_sentence(answer, one)}\n"]
    parts += [_group(group) for group in one.groups]
    if one.edges:
        rows = [
            f"- `{edge.winner}` > `{edge.loser}`: {edge_reason(edge)}"
            f"{', **decided here**' if edge in one.decided else ''}\n"
            for edge in one.edges
        ]
        parts.append(f"Precedence:\n\n{''.join(rows)}")
    return "\n".join(parts)


def _group(group: Group) -> str:
    selected = group.selection.selected
    outcome = f"selected `{selected.key}`" if selected else OUTCOME[group.selection.outcome]
    judged = zip(group.selection.verdicts, group.reasons, strict=True)
    rows = "".join(_row(verdict, reason) for verdict, reason in judged)
    table = f"| key | stage | reason | source |\n| --- | --- | --- | --- |\n{rows}"
    command = "" if selected else f"\n{_reproduction(group)}\n"
    return f"On {places_sentence(group)}: {outcome}\n\n{table}{command}"


def _row(verdict: Verdict, reason: str | None) -> str:
    key = f"**`{verdict.key}`**" if verdict.stage.value == "selected" else f"`{verdict.key}`"
    text = edges_sentence(verdict.edges) if verdict.edges else reason or ""
    location = verdict.candidate.location() or "no source"
    return f"| {key} | {verdict.stage.value} | {_escaped(text)} | `{location}` |\n"


def _reproduction(group: Group) -> str:
    command = group.selection.command()
    return group.selection.reproduction() if command is None else f"Reproduce it with: `{command}`"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
