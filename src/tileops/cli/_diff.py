"""Asking and answering ``tileops diff``; neither torch nor the code compared is loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tileops.cli._diff_json import diff_record
from tileops.cli._diff_text import diff_lines, diff_markdown, outcome_text, region_text
from tileops.cli._failure import LoadFailure
from tileops.cli._render import write
from tileops.cli._stdout import emit
from tileops.errors import InventoryError
from tileops.introspect.diff import InventoryDiff, diff
from tileops.introspect.inventory import (
    FamilyRecord,
    read_folder,
    read_revision,
)

FOLDER = "src/tileops/inventory"
"""Where a revision of this repository keeps its inventory."""


def ask(base: str, head: str, folder: str) -> InventoryDiff:
    """Compare two inventories, each a folder or a revision of the repository at hand.

    Raises:
        LoadFailure: One of them cannot be read.
    """
    return diff(_read(base, folder), _read(head, folder))


def _read(source: str, folder: str) -> Mapping[str, FamilyRecord]:
    try:
        if source and Path(source).is_dir():
            return _read_folder(Path(source))
        return read_revision(source, folder, Path.cwd())
    except InventoryError as error:
        raise LoadFailure(
            f"no inventory in {source!r}",
            cause=str(error),
            remedy="give a folder of inventory files, or a git revision and --folder",
        ) from error


def _read_folder(folder: Path) -> Mapping[str, FamilyRecord]:
    found = read_folder(folder)
    if not found:
        # Compared with nothing, everything would be new; with nothing either, all the same.
        raise InventoryError(source=str(folder), problem="there is no inventory file")
    return found


def render(found: InventoryDiff, form: str) -> None:
    """Write a comparison to stdout."""
    if form == "json":
        emit(json.dumps(diff_record(found), indent=2) + "\n")
    elif form == "md":
        emit(diff_markdown(found))
    elif form == "github":
        emit("".join(_annotations(found)))
    else:
        write(diff_lines(found))


def _annotations(found: InventoryDiff) -> list[str]:
    """Return workflow commands; a change is about the pull request, not about a line."""
    lines = []
    for one in found.interfaces:
        title = f"{one.op}.{one.interface}"
        for change in one.changes:
            text = (
                f"{outcome_text(change.old)} -> {outcome_text(change.new)} where "
                f"{region_text(change)}: {change.command}"
            )
            level = "notice" if change.new.startswith("key:") else "warning"
            lines.append(f"::{level} title={_escaped(title)}::{_escaped(text)}\n")
        for text in (*one.declarations, *one.workloads):
            lines.append(f"::notice title={_escaped(title)}::{_escaped(text)}\n")
        for text in (*one.not_compared, *one.undecided):
            lines.append(f"::warning title={_escaped(title)}::not compared: {_escaped(text)}\n")
    return lines


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
