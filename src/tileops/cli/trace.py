"""``tileops trace``: record what a program selects, and read recordings."""

from __future__ import annotations

import enum
import os
from pathlib import Path
from typing import Annotated

import typer

from tileops.cli._failure import ANSWERED, NO, UsageFailure

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Record what a program selects; summarise, show and replay recordings.",
)


class Format(enum.StrEnum):
    """The forms of an answer."""

    TEXT = "text"
    JSON = "json"
    MD = "md"
    HTML = "html"


File = Annotated[Path, typer.Argument(help="The recording, as it was named when it was made.")]
Form = Annotated[
    Format, typer.Option("--format", help="How to write; text by default.", show_default=False)
]


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def run(
    command: Annotated[list[str], typer.Argument(help="The command and its arguments.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to record; one file per process.")
    ] = Path("tileops-trace.jsonl"),
) -> None:
    """Run CMD and record every selection: tileops trace run -- python train.py.

    The exit code is that of the command.
    """
    environment = {**os.environ, "TILEOPS_TRACE": str(output.absolute())}
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        raise UsageFailure(f"cannot run {command[0]}", cause=error.strerror) from error


@app.command()
def summary(file: File, form: Form = Format.TEXT) -> None:
    """Summarise a recording per op: keys, calls, shares, and the first choices that refused."""
    from tileops.cli._trace import write_summary

    write_summary(file, form.value)


@app.command()
def show(file: File, form: Form = Format.TEXT) -> None:
    """List every record of a recording."""
    from tileops.cli._trace import write_records

    write_records(file, form.value)


@app.command()
def replay(
    file: File,
    modules: Annotated[
        list[str] | None, typer.Option("--import", help="Import a module first.")
    ] = None,
    form: Form = Format.TEXT,
) -> None:
    """Decide every recorded call again with the code at hand; exit 1 when one would change."""
    from tileops.cli._trace import write_replay

    changed = write_replay(file, modules or [], form.value)
    raise typer.Exit(NO if changed else ANSWERED)
