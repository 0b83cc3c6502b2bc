"""``tileops trace``: record what a program selects, and read recordings."""

from __future__ import annotations

import enum
import os
from pathlib import Path
from typing import Annotated

import typer

from tileops.cli._failure import ANSWERED, NO, UsageFailure
from tileops.cli._file_names import FileName
from tileops.cli._plain_command import PlainGroup
from tileops.cli._schemas import write_schema

app = typer.Typer(
    cls=PlainGroup,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Record what a program selects; summarise, show and replay recordings.",
)


DEFAULT = "tileops-trace.jsonl"
"""The name of a recording that is given none."""


class Format(enum.StrEnum):
    """The forms of an answer."""

    TEXT = "text"
    JSON = "json"
    MD = "md"
    HTML = "html"


_NAME = FileName(f"{DEFAULT} is the name unless trace run was given another", Path)

File = Annotated[
    Path | None,
    typer.Argument(
        help="The recording, as it was named when it was made.",
        show_default=False,
        metavar="FILE",
        click_type=_NAME,
    ),
]
Form = Annotated[
    Format, typer.Option("--format", help="How to write; text by default.", show_default=False)
]
Schema = Annotated[bool, typer.Option("--schema", help="Print the JSON schema.")]


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def run(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            help="The command and its arguments.", show_default=False, metavar="COMMAND..."
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", click_type=_NAME, help="Where to record; one file per process."
        ),
    ] = Path(DEFAULT),
) -> None:
    """Run COMMAND and record every selection: tileops trace run -- python train.py.

    COMMAND takes the place of this command, so signals reach it and the exit code is its own. What
    was recorded under the name before is removed first.
    """
    if not command:
        raise UsageFailure(
            "trace run needs a COMMAND to run", remedy="tileops trace run -- python train.py"
        )
    from tileops.cli._trace_run import run_recorded

    run_recorded(command, output, dict(os.environ))


@app.command()
def summary(file: File = None, form: Form = Format.TEXT, schema: Schema = False) -> None:
    """Summarise a recording per op: keys, calls, shares, and keys of higher rank that refused."""
    if schema:
        write_schema("trace-summary")
        return
    from tileops.cli._trace import write_summary

    write_summary(_given(file, "summary"), form.value)


@app.command()
def show(file: File = None, form: Form = Format.TEXT, schema: Schema = False) -> None:
    """List every record of a recording."""
    if schema:
        write_schema("trace-records")
        return
    from tileops.cli._trace import write_records

    write_records(_given(file, "show"), form.value)


@app.command()
def replay(
    file: File = None,
    modules: Annotated[
        list[str] | None, typer.Option("--import", help="Import a module first; may be repeated.")
    ] = None,
    form: Form = Format.TEXT,
    schema: Schema = False,
) -> None:
    """Decide every recorded call again with the code at hand; exit 1 when one would change.

    The modules that the recorded ops and kernels came from are imported. Those of a script are
    not, since that would run it: --import names a module that defines them.
    """
    if schema:
        write_schema("trace-replay")
        return
    from tileops.cli._trace_replay import write_replay

    changed = write_replay(_given(file, "replay"), modules or [], form.value)
    raise typer.Exit(NO if changed else ANSWERED)


def _given(file: Path | None, command: str) -> Path:
    if file is None:
        raise UsageFailure(
            f"trace {command} needs a FILE: the name that a recording was made under",
            remedy=f"tileops trace {command} {DEFAULT}, which tileops trace run records into "
            "unless -o names another",
        )
    return file
