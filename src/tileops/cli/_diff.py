"""Asking and answering ``tileops diff``; neither torch nor the code compared is loaded."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from tileops.cli._diff_json import diff_record
from tileops.cli._diff_text import diff_lines, diff_markdown, outcome_text, region_text
from tileops.cli._failure import LoadFailure, shortened
from tileops.cli._render import write
from tileops.cli._stdout import emit
from tileops.errors import InventoryError, MissingInventoryError
from tileops.findings import annotation
from tileops.introspect.diff import InventoryDiff, Kind, diff
from tileops.introspect.inventory import (
    FamilyRecord,
    folders_of,
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
        if os.path.isdir(source):
            return _read_folder(Path(source))
        return read_revision(source, folder, Path.cwd())
    except InventoryError as error:
        remedy = "BASE and HEAD are folders of inventory files, or git revisions that hold --folder"
        if isinstance(error, MissingInventoryError) and not os.path.isdir(source):
            remedy = _remedy_for(source)
        raise LoadFailure(
            f"no inventory in {shortened(source)}", cause=str(error), remedy=remedy
        ) from error


def _remedy_for(revision: str) -> str:
    """Say how to compare with a revision that has no inventory where it was looked for."""
    held = folders_of(revision, Path.cwd())
    if held:
        return "\n".join(f"--folder {one} is where {revision} has one" for one in held)
    return (
        f"{revision} is from before there was an inventory; its code can still write one: "
        f"git worktree add ../old {revision}, and with that installed\n"
        "tileops inventory --import MODULE --folder ../before --update, where --import names a "
        "backend of its own; then\n"
        "tileops diff ../before HEAD compares with it"
    )


def _read_folder(folder: Path) -> Mapping[str, FamilyRecord]:
    found = read_folder(folder)
    if not found:
        # Compared with nothing, everything would be new; with nothing either, all the same.
        raise MissingInventoryError(source=str(folder), problem="there is no file of one")
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
            lines.append(annotation(level, text, title=title))
        for text in (*one.declarations, *one.workloads):
            lines.append(annotation("notice", text, title=title))
        for text in one.not_compared:
            lines.append(annotation("warning", f"not compared: {text}", title=title))
        for text in one.undecided:
            doubt = f"not proved that no call changed {text}"
            lines.append(annotation("warning", doubt, title=title))
        if one.kind is not Kind.CHANGED:
            lines.append(annotation("notice", f"the interface is {one.kind.value}", title=title))
    return lines
