"""``tileops lint``: check kernel interfaces, implementations, ops and backends."""

from __future__ import annotations

import enum
import os
from pathlib import Path
from typing import Annotated

import typer

from tileops.cli._failure import ANSWERED, NO, UsageFailure

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


class Format(enum.StrEnum):
    """The forms of a report."""

    FULL = "full"
    CONCISE = "concise"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"
    JUNIT = "junit"


@app.command()
def lint(
    paths: Annotated[list[str] | None, typer.Argument(help="Files and folders.")] = None,
    select: Annotated[list[str] | None, typer.Option(help="Run these rules only.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Leave these rules out.")] = None,
    form: Annotated[Format, typer.Option("--format", help="How to write.")] = Format.FULL,
    jobs: Annotated[int, typer.Option("-j", "--jobs", help="Processes; 0: one per CPU.")] = 0,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither read nor write it.")
    ] = False,
) -> None:
    """Check PATHS, or the whole project, against the rules of the kernel contract.

    Every tracked file of the project is read, since rules look across files; findings are
    shown for PATHS. The exit code is 1 when there are findings.
    """
    from tileops.findings import WRITERS
    from tileops.lint import Request, lint
    from tileops.lint.errors import LintError

    jobs = jobs or os.cpu_count() or 1
    request = Request(tuple(paths or ()), _names(select), _names(ignore), jobs, not no_cache)
    try:
        run = lint(request, Path.cwd())
    except LintError as error:
        raise UsageFailure(str(error)) from error
    typer.echo(WRITERS[form.value](run.report()), nl=False)
    raise typer.Exit(NO if run.findings else ANSWERED)


def _names(stated: list[str] | None) -> tuple[str, ...]:
    """Split names that are given together, as in ``--select a,b``."""
    return tuple(name for part in stated or () for name in part.replace(",", " ").split())
