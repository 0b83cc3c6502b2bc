"""Asking and answering ``tileops inventory``, once torch may be loaded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import click
import msgspec

from tileops.cli._audit_text import audit_lines
from tileops.cli._diff_text import diff_lines
from tileops.cli._failure import LoadFailure
from tileops.cli._imports import stdout_kept_clean
from tileops.cli._inventory_listing import listing_lines, served_markdown
from tileops.cli._inventory_subject import Subject
from tileops.cli._ops import tables_of_op
from tileops.cli._render import Line, columns, without_roots, write
from tileops.cli._stdout import emit
from tileops.cli._table import counted
from tileops.introspect.audit import Audit
from tileops.introspect.collection import families
from tileops.introspect.drift import BrokenOp, Drift, drift, updated
from tileops.introspect.inventory import (
    SCHEMA,
    FamilyRecord,
    encode,
    merged,
)

__all__ = [
    "Subject",
    "broken_lines",
    "check",
    "drift_lines",
    "update",
    "write_drift",
    "write_listing",
    "write_updated",
]


def update(subject: Subject) -> tuple[tuple[BrokenOp, ...], Mapping[str, str]]:
    """Write the inventory anew; where ops are named, what is written of these.

    Returns:
        The ops that could not be written down, and what became of each file, by its name.

    Raises:
        LoadFailure: The folder cannot be read or written.
    """
    before = subject.written()
    with stdout_kept_clean():
        ops, about = subject.ops.values(), subject.about(before)
        found, broken = updated(ops, about, subject.tables)
    after = merged(before, found, set(subject.ops)) if subject.named else found
    try:
        written = _write(subject.folder, before, after)
    except OSError as error:
        problem = f"the inventory cannot be written to {str(subject.folder)!r}"
        raise LoadFailure(problem, cause=error.strerror) from error
    return broken, written


def _write(
    folder: Path, before: Mapping[str, FamilyRecord], after: Mapping[str, FamilyRecord]
) -> Mapping[str, str]:
    """Write every file whole or none, remove those of families that are gone, and tell."""
    folder.mkdir(parents=True, exist_ok=True)
    said = {}
    texts = {
        name: encode(family).encode()
        for name, family in after.items()
        if family is not before.get(name)
    }
    unfinished = {folder / f".{name}.json": folder / f"{name}.json" for name in texts}
    try:
        for (part, file), text in zip(unfinished.items(), texts.values(), strict=True):
            same = file.exists() and file.read_bytes() == text
            said[file.name] = "unchanged" if same else "written"
            part.write_bytes(text)
        for part, file in unfinished.items():
            part.replace(file)
    finally:
        for part in unfinished:
            part.unlink(missing_ok=True)
    for stale in set(before) - set(after):
        (folder / f"{stale}.json").unlink(missing_ok=True)
        said[f"{stale}.json"] = "removed"
    return dict(sorted(said.items()))


def check(subject: Subject) -> Drift:
    """Compare the ops with the inventory.

    Raises:
        LoadFailure: There is no inventory, or none that can be read.
    """
    if not subject.folder.exists():
        raise LoadFailure(
            f"there is no inventory to check: no folder {without_roots(str(subject.folder))!r}",
            remedy=f"{subject.remedy} writes it",
        )
    subject = subject.with_written()
    about = subject.about(subject.written())
    with stdout_kept_clean():
        return drift(subject.ops.values(), about, subject.tables)


def drift_lines(found: Drift, remedy: str) -> Iterator[Line]:
    """Yield the lines of a comparison of ops with their inventory."""
    if found.none:
        yield (("the inventory says what the ops select", "green"),)
        return
    yield from broken_lines(found.broken)
    if found.changes.interfaces:
        yield (("what the inventory says, and what is now:", "bold"),)
        yield from diff_lines(found.changes)
        yield ((f"{remedy} writes it anew", "dim"),)
    if found.audits:
        yield from audit_lines(Audit(found.audits))


def broken_lines(broken: tuple[BrokenOp, ...]) -> Iterator[Line]:
    """Yield a line for every op that cannot be constructed."""
    for one in broken:
        yield ((f"{one.op}  ", "bold red"), (one.problem, ""))


def write_listing(subject: Subject, form: str) -> None:
    """Write every op, interface and key to stdout.

    The text has the keys of installed backends too. The other forms say what the files say, and
    stderr tells what that leaves out.
    """
    if form != "table":
        _note_left_out(subject)
    if form == "md":
        with stdout_kept_clean():
            text = served_markdown(subject.ops, subject.tables)
        emit(text)
        return
    if form == "json":
        with stdout_kept_clean():
            found = families(subject.ops.values(), {}, subject.tables)
        record = {
            "schema": SCHEMA,
            "tileops": version("tileops"),
            "families": {name: msgspec.to_builtins(one) for name, one in found.items()},
        }
        emit(json.dumps(record, indent=1) + "\n")
        return
    with stdout_kept_clean():
        lines = list(listing_lines(subject.ops))
    write(lines)


def _note_left_out(subject: Subject) -> None:
    with stdout_kept_clean():
        foreign = [
            one.origin.distribution or str(one.origin.module)
            for op in subject.ops.values()
            for table in tables_of_op(op).values()
            for one in table.candidates
            if one.origin != table.origin
        ]
    if foreign:
        owners = ", ".join(sorted(set(foreign)))
        text = f"note: left out: {counted(len(foreign), 'key')} of {owners}"
        click.echo(f"{text}; --import with the name of its module adds such keys", err=True)


def write_drift(subject: Subject, found: Drift) -> None:
    """Write a comparison to stdout."""
    write(drift_lines(found, subject.remedy))


def write_updated(subject: Subject, broken: tuple[BrokenOp, ...], files: Mapping[str, str]) -> None:
    """Write to stdout what was written, and what could not be."""
    write(broken_lines(broken))
    rows: list[Line] = [((f"  {name}", ""), (became, "")) for name, became in files.items()]
    write([(("inventory in ", ""), (without_roots(str(subject.folder)), "")), *columns(rows)])
