"""Writing to stdout, and ending where that cannot be done."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import click

from tileops.cli._failure import READER_GONE, OutputFailure

__all__ = ["emit", "give_up_stdout"]


def emit(text: str) -> None:
    """Write to stdout now.

    What its encoding cannot say is escaped. A reader that has gone, such as ``head``, ends the
    command with the code of a program that the broken pipe kills, and quietly.

    Raises:
        OutputFailure: It cannot be written.
    """
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        raise give_up_stdout(error) from None


def give_up_stdout(error: OSError) -> click.exceptions.Exit | OutputFailure:
    """Return how a command ends that cannot write its answer; nothing more is written."""
    # Point stdout elsewhere, so that the interpreter's own flush at exit does not fail again.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return click.exceptions.Exit(READER_GONE)
    return OutputFailure(f"the answer cannot be written: {error.strerror}")
