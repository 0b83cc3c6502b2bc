"""A comparison of inventories for people, as lines and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from tileops.cli._printable import printable
from tileops.cli._render import Line
from tileops.introspect.diff import Change, InterfaceDiff, InventoryDiff, Kind
from tileops.introspect.formula import render

__all__ = ["diff_lines", "diff_markdown", "outcome_text", "region_text"]


def diff_lines(found: InventoryDiff) -> Iterator[Line]:
    """Yield the lines of a comparison."""
    if not found.interfaces:
        yield (("no difference in selection or declarations", ""),)
    for one in found.interfaces:
        # Names and reasons come from the files compared, and may hold what breaks a line.
        for line in _interface(one):
            yield tuple((printable(text), style) for text, style in line)


def _interface(one: InterfaceDiff) -> Iterator[Line]:
    kind = "" if one.kind is Kind.CHANGED else f"  {one.kind.value}"
    yield ((f"{one.op}.{one.interface}", "bold"), (kind, "bold yellow"))
    for text in one.declarations:
        yield (("  declared  ", "dim"), (text, ""))
    said = None
    for change in one.changes:
        moved = f"{outcome_text(change.old)} -> {outcome_text(change.new)}"
        if moved != said:
            yield (("  changed  ", "bold"), (moved, "bold red" if _is_loss(change) else "bold"))
        said = moved
        yield ((f"    where {region_text(change)}", ""),)
        yield ((f"    {change.command}", "dim"),)
    if one.more:
        yield (("  further calls changed likewise", "yellow"),)
    for text in one.workloads:
        yield (("  workload  ", "yellow"), (text, ""))
    for text in one.not_compared:
        yield (("  NOT COMPARED  ", "bold yellow"), (text, ""))
    for text in one.undecided:
        yield (("  NOT PROVED  ", "bold yellow"), (f"that no call changed {text}", ""))


def _is_loss(change: Change) -> bool:
    return not change.new.startswith("key:")


def outcome_text(outcome: str) -> str:
    """Return the key, or the outcome where none is selected."""
    return outcome.removeprefix("key:")


def region_text(change: Change) -> str:
    """Say which calls changed, and what of unmodelled keys is assumed."""
    stated = [render(one) for one in change.conditions]
    text = " and ".join(stated) or "every call"
    if not change.assumed:
        return text
    return f"{text} (what {', '.join(change.assumed)} serves is not modelled)"


def diff_markdown(found: InventoryDiff) -> str:
    """Return a comparison for a pull request."""
    if not found.interfaces:
        return "No difference in selection or declarations.\n"
    return "\n".join(_markdown(one) for one in found.interfaces)


def _markdown(one: InterfaceDiff) -> str:
    kind = "" if one.kind is Kind.CHANGED else f" {one.kind.value}"
    parts = [f"### {_code(f'{one.op}.{one.interface}')}{kind}\n"]
    if one.declarations:
        parts.append("".join(f"- {_escaped(text)}\n" for text in one.declarations))
    if one.changes:
        rows = [_row(change) for change in one.changes]
        head = "| from | to | calls | plainest call |\n| --- | --- | --- | --- |\n"
        parts.append(head + "".join(rows))
    said = [f"workload {text}" for text in one.workloads]
    said += [f"**NOT COMPARED** {text}" for text in one.not_compared]
    said += [f"**NOT PROVED** that no call changed {text}" for text in one.undecided]
    said += ["further calls changed likewise"] if one.more else []
    if said:
        parts.append("".join(f"- {_escaped(text)}\n" for text in said))
    return "\n".join(parts)


def _row(change: Change) -> str:
    cells = [
        _code(outcome_text(change.old)),
        _code(outcome_text(change.new)),
        _escaped(region_text(change)),
        _code(change.command),
    ]
    return f"| {' | '.join(cells)} |\n"


def _code(text: str) -> str:
    return f"`{_escaped(text)}`"


def _escaped(text: str) -> str:
    return printable(text.replace("|", "\\|").replace("\n", " "))
