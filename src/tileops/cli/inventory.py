"""``tileops inventory``: what is there, written down, and whether that still holds."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from tileops.cli._facts import complete_op
from tileops.cli._failure import ANSWERED, NO, UsageFailure
from tileops.cli._file_names import FileName
from tileops.cli._imports import require_torch
from tileops.cli._schemas import write_schema

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


class Format(enum.StrEnum):
    """The forms of a listing."""

    TABLE = "table"
    JSON = "json"
    MD = "md"


@app.command()
def inventory(
    ops: Annotated[
        list[str] | None, typer.Argument(help="Ops; all by default.", autocompletion=complete_op)
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Write the files anew.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Fail where the files say something else.")
    ] = False,
    folder: Annotated[
        str | None,
        typer.Option(
            click_type=FileName("leave it out for the inventory of this package"),
            help="The folder of the files; the package's own by default.",
        ),
    ] = None,
    modules: Annotated[
        list[str] | None, typer.Option("--import", help="Import a module first; may be repeated.")
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="How to list; table by default.", show_default=False)
    ] = Format.TABLE,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema.")] = False,
) -> None:
    """List every op, interface and key; write them down with --update, compare with --check.

    With --import, the ops are those that the modules define or register keys for, unless OPS names
    others. The table lists the keys of installed backends too, and says where each key is from. The
    files, which belong to one repository, and the other forms have those of --import alone.
    With OPS, --update writes these anew and leaves the rest of the files as they are.
    --check compares meaning, not text: which calls select which key. It fails on any difference,
    on calls that became ambiguous or unserved, and on an op that declares no interfaces.
    """
    if schema:
        write_schema("inventory")
        return
    if update or check:
        _refuse_beside_files(form, folder, modules or [])
    require_torch()
    from tileops.cli import _inventory

    subject = _inventory.Subject.read(ops or [], modules or [], folder)
    failed = False
    if update:
        broken, files = _inventory.update(subject)
        _inventory.write_updated(subject, broken, files)
        failed = bool(broken)
    if check:
        found = _inventory.check(subject)
        _inventory.write_drift(subject, found)
        failed = failed or not found.none
    if not (update or check):
        _inventory.write_listing(subject, form.value)
    raise typer.Exit(NO if failed else ANSWERED)


def _refuse_beside_files(form: Format, folder: str | None, modules: list[str]) -> None:
    """Refuse the options that do not go with --update and --check.

    Raises:
        UsageFailure: A listing is asked for, or keys of modules in the package's own files.
    """
    if form is not Format.TABLE:
        raise UsageFailure(
            f"--format {form.value} is of a listing, and --update and --check write what they did",
            remedy="leave one of them out",
        )
    if folder is None and modules:
        raise UsageFailure(
            "the files of this package hold no keys of other modules: --import needs a --folder",
            remedy="tileops inventory --import MODULE --folder selection --update",
        )
