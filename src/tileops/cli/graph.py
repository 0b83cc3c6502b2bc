"""``tileops graph``: which keys outrank which, and which serve the same calls."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from tileops.cli._facts import OP_HELP, complete_interface, complete_op, find_row
from tileops.cli._failure import UsageFailure
from tileops.cli._imports import require_torch
from tileops.cli._schemas import write_schema

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


class Format(enum.StrEnum):
    """The forms of a graph."""

    TEXT = "text"
    JSON = "json"
    DOT = "dot"
    MERMAID = "mermaid"


@app.command()
def graph(
    op: Annotated[
        str | None,
        typer.Argument(help=OP_HELP, autocompletion=complete_op, show_default=False),
    ] = None,
    interface: Annotated[
        str | None,
        typer.Option(help="One kernel interface.", autocompletion=complete_interface),
    ] = None,
    modules: Annotated[
        list[str] | None, typer.Option("--import", help="Import a module first; may be repeated.")
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="How to write; text by default.", show_default=False)
    ] = Format.TEXT,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema.")] = False,
) -> None:
    """Show which keys of OP outrank which, and whether any two serve the same call.

    An overlap is declared, undeclared with a call that shows it, or proved not to exist.
    """
    if schema:
        write_schema("graph")
        return
    if op is None:
        raise UsageFailure("graph needs an OP", remedy="tileops graph LayerNormFwdOp")
    require_torch()
    from tileops.cli._graph import ask, render

    render(ask(find_row(op, modules or []), interface), form.value)
