"""The listings of ``tileops inventory``: for people, and as tables for documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tileops.cli._ops import tables_of_op
from tileops.cli._render import Line, columns
from tileops.cli._table import Table, counted, table_markdown
from tileops.introspect.collection import families
from tileops.introspect.formula import TRUE, Term, outline, read, render
from tileops.introspect.inventory import InterfaceRecord, KeyRecord
from tileops.ops.op import Op
from tileops.selection import Candidate, SelectionTable

__all__ = ["listing_lines", "served_markdown"]


def listing_lines(ops: Mapping[str, type[Op]]) -> Iterator[Line]:
    """Yield every interface of *ops* with its keys: where each runs, its rank, its class."""
    tables = {(name, i): t for name, op in ops.items() for i, t in tables_of_op(op).items()}
    keys = sum(len(table.candidates) for table in tables.values())
    yield ((f"{counted(len(ops), 'op')}, {counted(keys, 'key')}", "bold"),)
    for (op, interface), table in tables.items():
        yield ()
        yield ((f"{op}.{interface}", "bold"),)
        yield from _interface_lines(table)


def _interface_lines(table: SelectionTable) -> Iterator[Line]:
    heads = columns([_head(one) for one in table.candidates])
    for head, one in zip(heads, table.candidates, strict=True):
        yield head
        owner = one.origin.distribution or one.origin.module
        source = f", from {owner}" if owner else ""
        yield ((f"      {one.name}  {one.location() or 'no source'}{source}", "dim"),)


def _head(one: Candidate) -> Line:
    kind = one.implementation
    archs = kind.supported_archs
    where = "" if archs is None else f" {', '.join(map(str, sorted(archs)))}"
    above = ", ".join(sorted(kind.preferred_over))
    rank = "general" if kind.general else f"over {above}" if above else ""
    devices = ", ".join(sorted(kind.devices))
    return ((f"  {one.key}", ""), (f"{devices}{where}", ""), (rank, ""))


_SERVED: Final = ("key", "archs", "ranks", "serves")

_WIDEST: Final = 100
"""Characters of a cell; a longer formula stands below the table, over several lines."""


def served_markdown(ops: Mapping[str, type[Op]], tables: Any) -> str:
    """Return the tables for documents: what each key serves, and no line numbers."""
    found = [
        (f"{op}.{interface}", record)
        for family in families(ops.values(), {}, tables).values()
        for op, written in family.ops.items()
        for interface, record in written.interfaces.items()
    ]
    keys = counted(sum(len(record.keys) for _, record in found), "key")
    head = f"{keys} of {counted(len(found), 'interface')}\n\n"
    return head + "\n".join(_interface_markdown(*one) for one in found)


def _interface_markdown(title: str, record: InterfaceRecord) -> str:
    rows = tuple(_served(*one) for one in record.keys.items())
    long = [
        _below(key, term)
        for key, term in ((key, read(one.serves)) for key, one in record.keys.items())
        if _is_long(term)
    ]
    return table_markdown(Table(title, _SERVED, rows)) + "".join(long)


def _below(key: str, term: Term) -> str:
    lines = "\n".join(outline(term))
    return f"\n`{key}` serves\n\n```text\n{lines}\n```\n"


def _served(key: str, one: KeyRecord) -> tuple[str, ...]:
    above = ", ".join(one.preferred_over)
    return (
        key,
        "all" if one.archs is None else ", ".join(map(str, one.archs)),
        "general" if one.general else f"preferred over {above}" if above else "",
        _serves_text(one),
    )


def _serves_text(one: KeyRecord) -> str:
    term = read(one.serves)
    text = "see below" if _is_long(term) else "every call" if term == TRUE else render(term)
    return f"{text}; {', '.join(one.unmodelled)}" if one.unmodelled else text


def _is_long(term: Term) -> bool:
    return len(render(term)) > _WIDEST
