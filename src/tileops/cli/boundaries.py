"""``tileops boundaries``: adjacent calls that select different keys."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from tileops.cli._facts import (
    OP_HELP,
    complete_board,
    complete_interface,
    complete_op,
    find_row,
)
from tileops.cli._failure import UsageFailure
from tileops.cli._imports import require_torch
from tileops.cli._schemas import write_schema

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


class Format(enum.StrEnum):
    """The forms of an answer."""

    TEXT = "text"
    JSON = "json"
    MD = "md"
    PYTEST = "pytest"


@app.command()
def boundaries(
    op: Annotated[
        str | None,
        typer.Argument(help=OP_HELP, autocompletion=complete_op, show_default=False),
    ] = None,
    interface: Annotated[
        str | None,
        typer.Option(help="One kernel interface.", autocompletion=complete_interface),
    ] = None,
    gpu: Annotated[
        str | None,
        typer.Option(help="On this board only; on any by default.", autocompletion=complete_board),
    ] = None,
    modules: Annotated[
        list[str] | None, typer.Option("--import", help="Import a module first; may be repeated.")
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="How to write; text by default.", show_default=False)
    ] = Format.TEXT,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema.")] = False,
) -> None:
    """List pairs of calls of OP that differ in one fact by one step and in their outcome.

    One pair for every fact and two outcomes that have any: the cases a test of selection needs.
    --format pytest writes that test.
    """
    if schema:
        write_schema("boundaries")
        return
    if op is None:
        raise UsageFailure("boundaries needs an OP", remedy="tileops boundaries LayerNormFwdOp")
    require_torch()
    from tileops.cli._boundaries import ask, render

    render(ask(find_row(op, modules or []), interface, gpu), form.value, modules or [])
