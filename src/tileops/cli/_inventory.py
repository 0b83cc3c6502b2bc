"""Asking and answering ``tileops inventory``, once torch may be loaded."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import msgspec

from tileops.cli._audit_text import audit_lines
from tileops.cli._diff_text import diff_lines
from tileops.cli._failure import LoadFailure, UsageFailure
from tileops.cli._imports import stdout_kept_clean
from tileops.cli._inventory_listing import listing_lines, served_markdown
from tileops.cli._ops import chosen_ops, tables_of_op
from tileops.cli._render import Line, columns, without_roots, write
from tileops.cli._stdout import emit
from tileops.cli._table import counted
from tileops.errors import InventoryError
from tileops.introspect.audit import Audit
from tileops.introspect.collection import all_tables, families, in_tree_tables
from tileops.introspect.drift import BrokenOp, Drift, drift, updated
from tileops.introspect.inventory import (
    SCHEMA,
    FamilyRecord,
    encode,
    read_folder,
    shipped_folder,
)
from tileops.ops.op import Op


@dataclass(frozen=True)
class Subject:
    """What an inventory is about: the ops, and whether registered keys belong to it.

    ``remedy`` is the command that writes the whole of it anew.
    """

    ops: Mapping[str, type[Op]]
    folder: Path
    registered: bool
    named: bool = False
    remedy: str = "tileops inventory --update"

    @classmethod
    def read(cls, ops: list[str], modules: list[str], folder: Path | None) -> Subject:
        """Return the subject of a command line.

        Raises:
            UsageFailure: There is no such op.
            LoadFailure: A module cannot be imported.
        """
        with stdout_kept_clean():
            chosen = chosen_ops(ops, modules)
        words = ["tileops", "inventory", *(word for one in modules for word in ("--import", one))]
        words += [] if folder is None else ["--folder", str(folder)]
        remedy = shlex.join([*words, "--update"])
        return cls(chosen, folder or shipped_folder(), bool(modules), bool(ops), remedy)

    @property
    def tables(self) -> Any:
        """How the tables of its ops are had: the tree's inventory holds the tree's keys only."""
        return all_tables if self.registered else in_tree_tables

    def written(self) -> Mapping[str, FamilyRecord]:
        """Read what is written about the ops.

        Raises:
            LoadFailure: A file holds no inventory.
        """
        if not self.folder.exists():
            return {}
        try:
            found = read_folder(self.folder)
        except InventoryError as error:
            raise LoadFailure("the inventory cannot be read", cause=str(error)) from error
        return {name: self._about(one) for name, one in found.items()} if self.named else found

    def _about(self, family: FamilyRecord) -> FamilyRecord:
        kept = {name: one for name, one in family.ops.items() if name in self.ops}
        return msgspec.structs.replace(family, ops=kept)


def update(subject: Subject) -> tuple[tuple[BrokenOp, ...], Mapping[str, str]]:
    """Write the inventory anew.

    Returns:
        The ops that could not be written down, and what became of each file, by its name.

    Files hold whole families, so naming ops makes an inventory of these alone, in a new folder.

    Raises:
        UsageFailure: Ops are named, and the folder holds an inventory already.
        LoadFailure: The folder cannot be written.
    """
    if subject.named and any(subject.folder.glob("*.json")):
        raise UsageFailure(
            "--update writes whole families: name no op, or a new --folder",
            remedy=subject.remedy,
        )
    with stdout_kept_clean():
        found, broken = updated(subject.ops.values(), subject.written(), subject.tables)
    try:
        written = _write(subject, found)
    except OSError as error:
        problem = f"the inventory cannot be written to {str(subject.folder)!r}"
        raise LoadFailure(problem, cause=error.strerror) from error
    return broken, written


def _write(subject: Subject, found: Mapping[str, FamilyRecord]) -> Mapping[str, str]:
    """Write every file whole or not at all, remove those of families that are gone, and tell."""
    subject.folder.mkdir(parents=True, exist_ok=True)
    gone = set(subject.written()) - set(found)
    said = {}
    for name, family in found.items():
        file, unfinished = subject.folder / f"{name}.json", subject.folder / f".{name}.json"
        text = encode(family).encode()
        same = file.exists() and file.read_bytes() == text
        said[file.name] = "unchanged" if same else "written"
        try:
            unfinished.write_bytes(text)
            unfinished.replace(file)
        finally:
            unfinished.unlink(missing_ok=True)
    for stale in gone:
        (subject.folder / f"{stale}.json").unlink()
        said[f"{stale}.json"] = "removed"
    return dict(sorted(said.items()))


def check(subject: Subject) -> Drift:
    """Compare the ops with the inventory."""
    with stdout_kept_clean():
        return drift(subject.ops.values(), subject.written(), subject.tables)


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
    if foreign and not subject.registered:
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
