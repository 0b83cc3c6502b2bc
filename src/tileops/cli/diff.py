"""``tileops diff``: which calls changed hands between two inventories."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from tileops.cli._failure import ANSWERED, NO, UsageFailure
from tileops.cli._file_names import FileName
from tileops.cli._schemas import write_schema

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


class Format(enum.StrEnum):
    """The forms of a comparison."""

    TEXT = "text"
    JSON = "json"
    MD = "md"
    GITHUB = "github"


@app.command()
def diff(
    base: Annotated[str | None, typer.Argument(help="A folder, or a git revision.")] = None,
    head: Annotated[str | None, typer.Argument(help="The folder or revision to compare.")] = None,
    folder: Annotated[
        str | None,
        typer.Option(
            click_type=FileName("leave it out for the inventory of this package"),
            help="Where a revision keeps its inventory.",
            show_default=False,
        ),
    ] = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit 1 when something differs.")
    ] = False,
    form: Annotated[
        Format, typer.Option("--format", help="How to write; text by default.", show_default=False)
    ] = Format.TEXT,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema.")] = False,
) -> None:
    """Compare the inventories BASE and HEAD: which calls select another key, as regions.

    Each is a folder of inventory files or a git revision. The answer comes from the formulas in
    them; the code is not needed.
    """
    if schema:
        write_schema("diff")
        return
    if base is None or head is None:
        beside = "" if base is None else f", got only {base!r}"
        raise UsageFailure(f"diff needs BASE and HEAD{beside}", remedy="tileops diff main HEAD")
    for side in (base, head):
        if not side or side.startswith("-"):
            raise UsageFailure(
                f"{side!r} names no folder and no revision", remedy="tileops diff main HEAD"
            )
    from tileops.cli._diff import FOLDER, ask, render

    found = ask(base, head, FOLDER if folder is None else folder)
    render(found, form.value)
    raise typer.Exit(NO if exit_code and found.interfaces else ANSWERED)
