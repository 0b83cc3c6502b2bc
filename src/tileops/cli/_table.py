"""A table as text, Markdown and a page of HTML."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tileops.cli._printable import printable
from tileops.cli._render import Line


@dataclass(frozen=True)
class Table:
    """A titled table of text.

    Attributes:
        title: The title.
        names: The names of the columns.
        rows: The rows, each with a text per column.
        head: How many of the first columns say what a row is about.
    """

    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    head: int = 1


def counted(number: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun: in the plural, which adds an s unless stated, or of one."""
    return f"{number} {noun if number == 1 else nouns or f'{noun}s'}"


def table_lines(table: Table) -> Iterator[Line]:
    """Yield the table with its columns aligned, one line per row."""
    yield ((printable(table.title), "bold"),)
    cells = [tuple(map(printable, row)) for row in (table.names, *table.rows)] if table.rows else []
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for number, row in enumerate(cells):
        style = "" if number else "dim"
        texts = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        yield (("  " + "  ".join(texts).rstrip(), style),)
    yield ()


def table_markdown(table: Table) -> str:
    """Return the table as Markdown."""
    head = f"### {printable(table.title)}\n\n"
    if not table.rows:
        return head
    lines = [_row(table.names), _row(["---"] * len(table.names)), *map(_row, table.rows)]
    return head + "".join(lines)


def table_html(title: str, tables: Sequence[Table]) -> str:
    """Return the tables as one page that needs no other file."""
    body = "".join(_html(table) for table in tables)
    return (
        "<!doctype html>\n<html lang=en><meta charset=utf-8>"
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n{body}</html>\n"
    )


_STYLE = (
    "body{font:14px system-ui;margin:2em}table{border-collapse:collapse;margin-bottom:2em}"
    "td,th{padding:.3em .7em;border-bottom:1px solid #ccc;text-align:left;vertical-align:top}"
    "td{font-family:ui-monospace,monospace}"
)


def _html(table: Table) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.names)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(printable(text))}</td>" for text in row) + "</tr>\n"
        for row in table.rows
    )
    return (
        f"<h2>{html.escape(printable(table.title))}</h2>\n<table><tr>{head}</tr>\n{rows}</table>\n"
    )


def _row(cells: Sequence[str]) -> str:
    texts = [printable(cell.replace("|", "\\|").replace("\n", " ")) for cell in cells]
    return f"| {' | '.join(texts)} |\n"
