"""``tileops doctor``: what this installation consists of, and what is wrong with it."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from tileops.cli._failure import ANSWERED, NO
from tileops.cli._schemas import write_schema

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


class Format(enum.StrEnum):
    """The forms of a report."""

    TEXT = "text"
    JSON = "json"


@app.command()
def doctor(
    form: Annotated[
        Format,
        typer.Option("--format", help="How to write; text by default.", show_default=False),
    ] = Format.TEXT,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema.")] = False,
) -> None:
    """Report versions, devices and their facts, backends, targets and caches.

    The exit code is 1 when a backend failed to load, a detector raised or a device cannot be
    read.
    """
    if schema:
        write_schema("doctor")
        return
    from tileops.cli._doctor import examine, render

    diagnosis = examine()
    render(diagnosis, form.value)
    raise typer.Exit(ANSWERED if diagnosis.healthy else NO)
