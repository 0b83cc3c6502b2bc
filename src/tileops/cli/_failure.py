"""How a command ends when it cannot answer: a sentence on stderr and an exit code."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import click

ANSWERED = 0
NO = 1
USAGE = 2
NOT_LOADED = 3
INCONCLUSIVE = 4


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
    """Reject a name, with the nearest known ones."""
    names = list(known)
    folded = {one.lower(): one for one in names}
    near = [folded[hit] for hit in difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.5)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names) or 'none'}"
    return UsageFailure(f"no {what} {name!r}; {hint}", remedy=remedy)
