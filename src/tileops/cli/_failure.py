"""How a command ends when it cannot answer: a sentence on stderr and an exit code."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable

import click
from click.exceptions import NoArgsIsHelpError

from tileops.errors import TileopsError

ANSWERED = 0
NO = 1
USAGE = 2
NOT_LOADED = 3
INCONCLUSIVE = 4
INTERNAL = 70
INTERRUPTED = 130

OPS_REMEDY = "pip install 'tileops[ops]'"
"""What adds everything that the base installation leaves out."""

_EXTRA = ("torch", "tilelang", "z3")


class Failure(click.ClickException):
    """A failure that is shown as ``error:``, ``cause:`` and ``help:`` lines."""

    exit_code = USAGE

    def __init__(
        self, message: str, *, cause: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message)
        self.cause = cause
        self.remedy = remedy

    def show(self, file: object = None) -> None:
        """Write the lines to stderr."""
        click.echo(f"error: {self.message}", err=True)
        if self.cause is not None:
            click.echo(f"cause: {self.cause}", err=True)
        if self.remedy is not None:
            click.echo(f"help: {self.remedy}", err=True)


class UsageFailure(Failure):
    """What was asked cannot be asked: an unknown name, or a value that is none."""


class LoadFailure(Failure):
    """A module or a backend that the question needs cannot be loaded."""

    exit_code = NOT_LOADED


def unknown(what: str, name: str, known: Iterable[str], remedy: str | None = None) -> UsageFailure:
    """Reject a name, with the nearest known ones.

    The known names are listed when none is near and no remedy says more.
    """
    names = list(known)
    folded = {_folded(one): one for one in names}
    near = [
        folded[hit] for hit in difflib.get_close_matches(_folded(name), folded, n=3, cutoff=0.6)
    ]
    if near:
        hint = f"; did you mean {' or '.join(near)}?"
    else:
        hint = "" if remedy else f"; known: {', '.join(names) or 'none'}"
    return UsageFailure(f"no {what} {name!r}{hint}", remedy=remedy)


def _folded(name: str) -> str:
    return name.lstrip("-").lower()


def report(error: BaseException, show_traceback: bool) -> int:
    """Write what ended a command to stderr and return the exit code it deserves."""
    if show_traceback:
        traceback.print_exception(error)
    if isinstance(error, click.Abort):
        return INTERRUPTED
    if not isinstance(error, click.ClickException):
        return _report_exception(error, show_traceback)
    if isinstance(error, click.UsageError) and not isinstance(error, NoArgsIsHelpError):
        text = error.format_message().rstrip(".")
        remedy = None if error.ctx is None else f"{error.ctx.command_path} --help"
        error = UsageFailure(text[:1].lower() + text[1:], remedy=remedy)
    error.show()
    return error.exit_code


def missing_extra(error: ImportError) -> LoadFailure | None:
    """Return what to say where a module that the ops need cannot be imported."""
    name = (error.name or "").partition(".")[0]
    if name not in _EXTRA:
        return None
    return LoadFailure(
        f"this question needs {name}, which cannot be imported",
        cause=str(error),
        remedy=OPS_REMEDY,
    )


def _report_exception(error: BaseException, show_traceback: bool) -> int:
    missing = missing_extra(error) if isinstance(error, ImportError) else None
    if missing is not None:
        missing.show()
        return missing.exit_code
    remedy = None if show_traceback else "--traceback shows where it was raised"
    Failure(f"{error}" if str(error) else type(error).__name__, remedy=remedy).show()
    return NOT_LOADED if isinstance(error, (TileopsError, ImportError)) else INTERNAL
