"""How a command ends when it cannot answer: a sentence on stderr and an exit code."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable
from contextlib import suppress

import click
from click.exceptions import NoArgsIsHelpError

from tileops.cli._printable import printable
from tileops.errors import TileopsError

ANSWERED = 0
NO = 1
USAGE = 2
NOT_LOADED = 3
INCONCLUSIVE = 4
INTERNAL = 70
UNWRITTEN = 74
INTERRUPTED = 130
READER_GONE = 141

OPS_REMEDY = "pip install 'tileops[ops]'"
"""What adds everything that the base installation leaves out."""

_EXTRA = ("torch", "tilelang", "z3")


class Failure(click.ClickException):
    """A failure that is shown as ``error:`` and ``cause:``, and a ``help:`` for every remedy."""

    exit_code = USAGE

    def __init__(
        self, message: str, *, cause: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message)
        self.cause = cause
        self.remedy = remedy

    def show(self, file: object = None) -> None:
        """Write the lines to stderr."""
        lines = [f"error: {self.message}"]
        if self.cause is not None:
            lines.append(f"cause: {self.cause}")
        lines += [f"help: {remedy}" for remedy in (self.remedy or "").splitlines()]
        for line in lines:
            click.echo(printable(line, kept="\n\t"), err=True)


class UsageFailure(Failure):
    """What was asked cannot be asked: an unknown name, or a value that is none."""


class OutputFailure(Failure):
    """The answer cannot be written to stdout."""

    exit_code = UNWRITTEN


class LoadFailure(Failure):
    """A module or a backend that the question needs cannot be loaded."""

    exit_code = NOT_LOADED


def unknown(
    what: str,
    name: str,
    known: Iterable[str],
    remedy: str | None = None,
    *,
    of: str | None = None,
) -> UsageFailure:
    """Reject a name, with the nearest known ones.

    Where none is near and no remedy says more, the known names are listed, of many the nearest.

    Args:
        what: What it should name.
        name: The name.
        known: The names that there are.
        remedy: What to do instead.
        of: Whose names these are.
    """
    names = list(known)
    near = _nearest(name, names, 0.6)
    if near:
        hint = f"; did you mean {' or '.join(near)}?"
    elif remedy:
        hint = ""
    elif len(names) > _MANY:
        hint = f"; the nearest of {len(names)} are {', '.join(_nearest(name, names, 0.0))}"
    else:
        hint = f"; known: {', '.join(names) or 'none'}"
    head = "no" if of is None else f"{of} has no"
    return UsageFailure(f"{head} {what} {shortened(name)}{hint}", remedy=remedy)


_MANY = 30


def _nearest(name: str, names: list[str], cutoff: float) -> list[str]:
    folded = {_folded(one): one for one in names}
    if _folded(name) in folded:
        return [folded[_folded(name)]]
    near = difflib.get_close_matches(_folded(name), folded, n=3, cutoff=cutoff)
    return [folded[one] for one in near]


def shortened(text: str) -> str:
    """Quote what was given, of something long its beginning."""
    if len(text) <= _LONG:
        return repr(text)
    return f"{text[:_LONG]!r}... ({len(text)} characters)"


_LONG = 80


def _folded(name: str) -> str:
    return name.lstrip("-").lower()


def report(error: BaseException, show_traceback: bool) -> int:
    """Write what ended a command to stderr and return the exit code it deserves."""
    said = None if isinstance(error, click.Abort) else _said(error, show_traceback)
    # Where stderr cannot be written either, the exit code still says what happened.
    with suppress(OSError):
        if show_traceback:
            traceback.print_exception(error)
        if said is not None:
            said.show()
    return INTERRUPTED if said is None else said.exit_code


def _said(error: BaseException, show_traceback: bool) -> click.ClickException:
    """Return what is to be shown of an error."""
    if not isinstance(error, click.ClickException):
        return _failure_of(error, show_traceback)
    if isinstance(error, click.UsageError) and not isinstance(error, NoArgsIsHelpError):
        text = error.format_message().rstrip(".")
        remedy = None if error.ctx is None else f"{error.ctx.command_path} --help"
        return UsageFailure(text[:1].lower() + text[1:], remedy=remedy)
    return error


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


class _Defect(Failure):
    """An error that nothing foresaw."""

    exit_code = INTERNAL


def _failure_of(error: BaseException, show_traceback: bool) -> Failure:
    missing = missing_extra(error) if isinstance(error, ImportError) else None
    if missing is not None:
        return missing
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename}: "
        return LoadFailure(f"{place}{error.strerror}")
    remedy = None if show_traceback else "--traceback shows where it was raised"
    foreseen = isinstance(error, (TileopsError, ImportError))
    kind = LoadFailure if foreseen else _Defect
    return kind(f"{error}" if str(error) else type(error).__name__, remedy=remedy)
