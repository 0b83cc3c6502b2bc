"""``tileops audit``: what is proved of every possible call, and what is to mend."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from tileops.cli._facts import complete_op
from tileops.cli._file_names import FileName
from tileops.cli._imports import require_torch
from tileops.cli._schemas import write_schema

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


class Format(enum.StrEnum):
    """The forms of a report."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"
    JUNIT = "junit"


@app.command()
def audit(
    ops: Annotated[
        list[str] | None, typer.Argument(help="Ops; all by default.", autocompletion=complete_op)
    ] = None,
    interface: Annotated[str | None, typer.Option(help="One kernel interface.")] = None,
    modules: Annotated[
        list[str] | None, typer.Option("--import", help="Import a module first; may be repeated.")
    ] = None,
    inventory: Annotated[
        Path | None,
        typer.Option(
            click_type=FileName("leave it out for the inventory of this package", Path),
            help="The folder that says where kernels are, and what may stay unserved.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 4 if not all is proved.")] = False,
    form: Annotated[
        Format, typer.Option("--format", help="How to write; text by default.", show_default=False)
    ] = Format.TEXT,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema.")] = False,
) -> None:
    """Prove of every possible call that one kernel is selected, or show a call that refutes it.

    Found are ambiguous and unserved calls, kernels and preferences that never matter, refusals
    that raise, and what could not be proved. The exit code is 1 when something is to mend.
    """
    if schema:
        write_schema("audit")
        return
    require_torch()
    from tileops.cli._audit import ask, code, render

    found = ask(ops or [], interface, modules or [], inventory)
    render(found, form.value)
    raise typer.Exit(code(found, strict))
