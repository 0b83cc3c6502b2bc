"""``tileops lint``: check kernel interfaces, implementations, ops and backends."""

from __future__ import annotations

import enum
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tileops.cli._failure import ANSWERED, NO, LoadFailure, UsageFailure
from tileops.cli._file_names import FileName
from tileops.cli._schemas import write_schema
from tileops.cli._stdout import emit
from tileops.cli._table import counted
from tileops.cli._values import at_least

if TYPE_CHECKING:
    from tileops.findings import Applicability
    from tileops.lint import LintRun

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
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            click_type=FileName(". is the folder at hand"),
            help="Files and folders.",
            show_default=False,
        ),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(help="Run only these: rule ids, tiers (error, or E), all; may be repeated."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Leave these out; as for --select.")
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Apply the safe fixes; exits with 1 when it did.")
    ] = False,
    unsafe_fixes: Annotated[
        bool, typer.Option("--unsafe-fixes", help="Apply also fixes that need a reader's eye.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what the fixes would change; write nothing.")
    ] = False,
    form: Annotated[Format, typer.Option("--format", help="How to write.")] = Format.FULL,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Count the findings per rule instead.")
    ] = False,
    show_unknown: Annotated[
        bool,
        typer.Option("--show-unknown", help="Say also what could not be resolved."),
    ] = False,
    baseline: Annotated[
        str | None, typer.Option(metavar="FILE", help="Hide the findings this file knows.")
    ] = None,
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Write the findings into the baseline.")
    ] = False,
    jobs: Annotated[
        int,
        typer.Option("-j", "--jobs", callback=at_least(0, 1024), help="Processes; 0: one per CPU."),
    ] = 0,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither read nor write the cache.")
    ] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema.")] = False,
) -> None:
    """Check PATHS, or the whole project, against the rules of the kernel contract.

    Every tracked file of the project is read, since rules look across files; findings are
    shown for PATHS. The exit code is 0 when there was nothing to report, 1 when there were
    findings, fixed ones included, 2 when the linter was asked what it does not know, and 3 when
    a file is missing or no good.
    """
    if schema:
        write_schema("lint")
        return
    if statistics and form not in (Format.FULL, Format.CONCISE):
        raise UsageFailure(f"--statistics is text, and --format {form.value} is not")
    if diff and update_baseline:
        raise UsageFailure("--diff writes nothing, and --update-baseline is to write")
    run = _run(
        paths=tuple(paths or ()),
        select=_names(select),
        ignore=_names(ignore),
        jobs=jobs or os.cpu_count() or 1,
        cache=not no_cache,
        fix=_fixes(fix or diff, unsafe_fixes),
        write=not diff,
        baseline=baseline,
        update_baseline=update_baseline,
        show_unknown=show_unknown,
        edits=form in (Format.JSON, Format.SARIF),
    )
    emit(_answer(run, form, diff, statistics))
    _remark(run, diff)
    raise typer.Exit(ANSWERED if run.clean else NO)


def _run(**asked: Any) -> LintRun:
    from tileops.lint import Request, lint
    from tileops.lint.errors import LintError, LintFileError

    try:
        return lint(Request(**asked), Path.cwd())
    except LintFileError as error:
        raise LoadFailure(str(error)) from error
    except LintError as error:
        raise UsageFailure(str(error)) from error


def _names(stated: list[str] | None) -> tuple[str, ...]:
    """Split names that are given together, as in ``--select a,b``."""
    names = tuple(name for part in stated or () for name in part.replace(",", " ").split())
    if stated and not names:
        raise UsageFailure("an empty --select or --ignore names no rule", remedy="leave it out")
    return names


def _fixes(safe: bool, unsafe: bool) -> frozenset[Applicability]:
    from tileops.findings import Applicability

    if unsafe:
        return frozenset(Applicability)
    return frozenset({Applicability.SAFE} if safe else ())


def _answer(run: LintRun, form: Format, diff: bool, statistics: bool) -> str:
    """Return what goes to stdout."""
    from tileops.findings import WRITERS, write_statistics

    if diff:
        from tileops.lint._diff import diff_of

        return "".join(diff_of(path, change) for path, change in run.changes.items())
    if statistics:
        return write_statistics(run.report())
    if form in (Format.JSON, Format.SARIF):
        from tileops.lint import installed_version

        return WRITERS[form.value](run.report(installed_version()))
    return WRITERS[form.value](run.report())


def _remark(run: LintRun, diff: bool) -> None:
    """Say on stderr what the findings that are shown do not tell."""
    if not run.checked:
        typer.echo("note: there is no tracked Python file under the given paths", err=True)
    if run.fixed:
        verb = "would resolve" if diff else "resolved"
        files = counted(len(run.changes), "file")
        typer.echo(f"fixes {verb} {counted(run.fixed, 'finding')} in {files}", err=True)
    if diff and run.findings:
        typer.echo(f"{counted(len(run.findings), 'finding')} would be left", err=True)
    if run.known:
        typer.echo(f"the baseline knows {counted(run.known, 'finding')}", err=True)
