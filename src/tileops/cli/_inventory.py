"""Asking and answering ``tileops inventory``, once torch may be loaded."""

from __future__ import annotations

import json
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
from tileops.cli._ops import chosen_ops, tables_of_op
from tileops.cli._render import Line, write
from tileops.cli._stdout import emit
from tileops.cli._table import Table, counted, table_lines, table_markdown
from tileops.errors import InventoryError
from tileops.introspect.audit import Audit
from tileops.introspect.collection import all_tables, families, in_tree_tables
from tileops.introspect.drift import BrokenOp, Drift, drift, updated
from tileops.introspect.formula import TRUE, read, render
from tileops.introspect.inventory import (
    SCHEMA,
    FamilyRecord,
    KeyRecord,
    encode,
    read_folder,
    shipped_folder,
)
from tileops.ops.op import Op
from tileops.selection import Candidate


@dataclass(frozen=True)
class Subject:
    """What an inventory is about: the ops, and whether registered keys belong to it."""

    ops: Mapping[str, type[Op]]
    folder: Path
    registered: bool
    named: bool = False

    @classmethod
    def read(cls, ops: list[str], modules: list[str], folder: Path | None) -> Subject:
        """Return the subject of a command line.

        Raises:
            UsageFailure: There is no such op.
            LoadFailure: A module cannot be imported.
        """
        with stdout_kept_clean():
            chosen = chosen_ops(ops, modules)
        return cls(chosen, folder or shipped_folder(), bool(modules), bool(ops))

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


def update(subject: Subject) -> tuple[BrokenOp, ...]:
    """Write the inventory anew; return the ops that could not be written down.

    Files hold whole families, so naming ops makes an inventory of these alone, in a new folder.

    Raises:
        UsageFailure: Ops are named, and the folder holds an inventory already.
        LoadFailure: The folder cannot be written.
    """
    if subject.named and any(subject.folder.glob("*.json")):
        raise UsageFailure(
            "--update writes whole families: name no op, or a new --folder",
            remedy="tileops inventory --update",
        )
    with stdout_kept_clean():
        found, broken = updated(subject.ops.values(), subject.written(), subject.tables)
    try:
        _write(subject, found)
    except OSError as error:
        problem = f"the inventory cannot be written to {str(subject.folder)!r}"
        raise LoadFailure(problem, cause=error.strerror) from error
    return broken


def _write(subject: Subject, found: Mapping[str, FamilyRecord]) -> None:
    """Write every file whole or not at all, and remove those of families that are gone."""
    subject.folder.mkdir(parents=True, exist_ok=True)
    gone = set(subject.written()) - set(found)
    for name, family in found.items():
        unfinished = subject.folder / f".{name}.json"
        try:
            unfinished.write_text(encode(family), encoding="utf-8")
            unfinished.replace(subject.folder / f"{name}.json")
        finally:
            unfinished.unlink(missing_ok=True)
    for stale in gone:
        (subject.folder / f"{stale}.json").unlink()


def check(subject: Subject) -> Drift:
    """Compare the ops with the inventory."""
    with stdout_kept_clean():
        return drift(subject.ops.values(), subject.written(), subject.tables)


def drift_lines(found: Drift) -> Iterator[Line]:
    """Yield the lines of a comparison of ops with their inventory."""
    if found.none:
        yield (("the inventory says what the ops select", "green"),)
        return
    yield from broken_lines(found.broken)
    if found.changes.interfaces:
        yield (("what the inventory says, and what is now:", "bold"),)
        yield from diff_lines(found.changes)
        yield (("tileops inventory --update writes it anew", "dim"),)
    if found.audits:
        yield from audit_lines(Audit(found.audits))


def broken_lines(broken: tuple[BrokenOp, ...]) -> Iterator[Line]:
    """Yield a line for every op that cannot be constructed."""
    for one in broken:
        yield ((f"{one.op}  ", "bold red"), (one.problem, ""))


def write_listing(subject: Subject, form: str) -> None:
    """Write every op, interface and key to stdout.

    The table has the keys of installed backends too. The other forms say what the files say, and
    stderr tells what that leaves out.
    """
    if form != "table":
        _note_left_out(subject)
    if form == "md":
        with stdout_kept_clean():
            text = served_markdown(subject)
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
        table = _listing(subject)
    write(table_lines(table))


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


_SERVED = ("key", "class", "archs", "ranks", "serves")


def served_markdown(subject: Subject) -> str:
    """Return the tables for documents: what each key serves, and no line numbers."""
    tables = [
        Table(f"{op}.{interface}", _SERVED, tuple(_served(*one) for one in record.keys.items()))
        for family in families(subject.ops.values(), {}, subject.tables).values()
        for op, found in family.ops.items()
        for interface, record in found.interfaces.items()
    ]
    keys = counted(sum(len(one.rows) for one in tables), "key")
    head = f"{keys} of {counted(len(tables), 'interface')}\n\n"
    return head + "\n".join(map(table_markdown, tables))


def _served(key: str, one: KeyRecord) -> tuple[str, ...]:
    above = ", ".join(one.preferred_over)
    return (
        key,
        one.kernel.rpartition(":")[2],
        "all" if one.archs is None else ", ".join(map(str, one.archs)),
        "general" if one.general else f"preferred over {above}" if above else "",
        _serves_text(one),
    )


def _serves_text(one: KeyRecord) -> str:
    term = read(one.serves)
    text = "every call" if term == TRUE else render(term)
    return f"{text}; {', '.join(one.unmodelled)}" if one.unmodelled else text


_COLUMNS = (
    "op",
    "interface",
    "key",
    "class",
    "location",
    "from",
    "devices",
    "archs",
    "general",
    "preferred over",
)


def _listing(subject: Subject) -> Table:
    rows = [
        _row(op.__name__, interface, one)
        for op in subject.ops.values()
        for interface, table in tables_of_op(op).items()
        for one in table.candidates
    ]
    title = f"{counted(len(subject.ops), 'op')}, {counted(len(rows), 'key')}"
    return Table(title, _COLUMNS, tuple(rows))


def _row(op: str, interface: str, one: Candidate) -> tuple[str, ...]:
    implementation = one.implementation
    archs = implementation.supported_archs
    return (
        op,
        interface,
        one.key,
        one.name,
        str(one.location() or ""),
        one.origin.distribution or one.origin.module or "in-tree",
        ", ".join(sorted(implementation.devices)),
        "all" if archs is None else ", ".join(map(str, sorted(archs))),
        "general" if implementation.general else "",
        ", ".join(sorted(implementation.preferred_over)),
    )


def write_drift(found: Drift) -> None:
    """Write a comparison to stdout."""
    write(drift_lines(found))


def write_broken(broken: tuple[BrokenOp, ...]) -> None:
    """Write what could not be written down to stdout."""
    write(broken_lines(broken))
