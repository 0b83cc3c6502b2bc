"""The answer of ``tileops explain`` as Markdown, for documents and pull requests."""

from __future__ import annotations

from tileops.cli._explain_text import facts_sentence, target_sentence
from tileops.introspect.explanation import Explanation, Group, InterfaceAnswer


def explanation_markdown(answer: Explanation) -> str:
    """Return a heading per interface and a table per group of devices."""
    parts = [f"Target: {target_sentence(answer.op, answer.target)}\n"]
    parts += [_interface(answer, one) for one in answer.interfaces]
    return "\n".join(parts)


def _interface(answer: Explanation, one: InterfaceAnswer) -> str:
    groups = "\n".join(_group(group) for group in one.groups)
    return f"### `{answer.op}` `{one.table.interface}`\n\n{facts_sentence(answer, one)}\n\n{groups}"


def _group(group: Group) -> str:
    selected = group.selection.selected
    outcome = f"selects `{selected.key}`" if selected else group.selection.outcome.value
    rows = "".join(
        f"| `{v.key}` | {v.stage.value} | {_escaped(v.reason or '')} | "
        f"`{v.candidate.location() or 'no source'}` |\n"
        for v in group.selection.verdicts
    )
    return (
        f"{', '.join(group.places)}: {outcome}\n\n"
        f"| key | stage | reason | source |\n| --- | --- | --- | --- |\n{rows}"
    )


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
