"""The answer of ``tileops explain`` as Markdown, for documents and pull requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tileops.cli._explain_text import (
    call_sentence,
    edge_reason,
    edges_sentence,
    facts_sentence,
    impossible_sentence,
    nothing_sentence,
    outcome_sentence,
    places_sentence,
    reproduction,
    target_sentence,
)
from tileops.cli._render import plain
from tileops.cli._why_not_text import why_not_lines
from tileops.introspect.explanation import Explanation, Group, InterfaceAnswer
from tileops.selection import Verdict

if TYPE_CHECKING:
    from tileops.introspect.conditions import Condition
    from tileops.introspect.why_not import WhyNot


def explanation_markdown(answer: Explanation) -> str:
    """Return a heading per interface, a table per group of devices and the precedence."""
    parts = [f"Target: {_escaped(target_sentence(answer.op, answer.target))}\n"]
    if answer.call is not None:
        parts.append(f"Call: `{call_sentence(answer.call)}`\n")
    nothing = nothing_sentence(answer)
    if nothing is not None:
        parts.append(f"{nothing.capitalize()}.\n")
    elif answer.every_board:
        parts.append("No GPU here and none named: every known board.\n")
    parts += [_interface(answer, one) for one in answer.interfaces]
    parts += [
        f"### `{answer.op}.{name}`\n\n{_escaped(impossible_sentence(reason))}.\n"
        for name, reason in answer.impossible.items()
    ]
    return "\n".join(parts)


def _interface(answer: Explanation, one: InterfaceAnswer) -> str:
    parts = [f"### `{answer.op}.{one.table.interface}`\n", f"{facts_sentence(answer, one)}\n"]
    parts += [_group(answer, group) for group in one.groups]
    if one.edges:
        rows = [
            f"- `{edge.winner}` > `{edge.loser}`: {edge_reason(edge)}"
            f"{', **decided here**' if edge in one.decided else ''}\n"
            for edge in one.edges
        ]
        parts.append(f"Precedence:\n\n{''.join(rows)}")
    return "\n".join(parts)


def _group(answer: Explanation, group: Group) -> str:
    selected = group.selection.selected
    outcome = (
        f"selected `{selected.key}`" if selected else outcome_sentence(answer, group.selection)
    )
    judged = zip(group.selection.verdicts, group.reasons, strict=True)
    rows = "".join(_row(verdict, reason) for verdict, reason in judged)
    table = f"| key | stage | reason | source |\n| --- | --- | --- | --- |\n{rows}"
    command = "" if selected else _reproduction(answer, group)
    more = "".join(_conditions(key, found) for key, found in group.conditions.items())
    asked = "" if group.why_not is None else _why_not(answer, group.why_not)
    return f"On {places_sentence(group)}: {outcome}\n\n{table}{command}{more}{asked}"


_HOLDS: dict[bool | None, str] = {True: "yes", False: "**no**", None: "unknown"}


def _conditions(key: str, found: tuple[Condition, ...]) -> str:
    if not found:
        return ""
    rows = "".join(
        f"| {_HOLDS[one.holds]} | `{_escaped(one.whole)}` | "
        f"{_escaped(one.observed)} | `{one.place}` |\n"
        for one in found
    )
    return f"\n| holds | `{key}` asks for | here | line |\n| --- | --- | --- | --- |\n{rows}"


def _why_not(answer: Explanation, found: WhyNot) -> str:
    lines = plain(why_not_lines(answer, found))
    return f"\n```text\n{lines}```\n"


def _row(verdict: Verdict, reason: str | None) -> str:
    key = f"**`{verdict.key}`**" if verdict.stage.value == "selected" else f"`{verdict.key}`"
    text = edges_sentence(verdict.edges) if verdict.edges else reason or ""
    location = verdict.candidate.location() or "no source"
    return f"| {key} | {verdict.stage.value} | {_escaped(text)} | `{location}` |\n"


def _reproduction(answer: Explanation, group: Group) -> str:
    again = reproduction(answer, group.selection)
    if again is None:
        return ""
    said, command, words = again.partition(": tileops ")
    return f"\n{said}: `tileops {words}`\n" if command else f"\n{said}\n"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
