"""Writing an answer to stdout: styled where a person reads it, plain where a program does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

Span = tuple[str, str]
"""Text and its style; the empty style is plain."""

Line = tuple[Span, ...]


def plain(lines: Iterable[Line]) -> str:
    """Return the lines without their styles."""
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)


def write(lines: Iterable[Line]) -> None:
    """Write lines to stdout, in colour on a terminal unless ``NO_COLOR`` is set."""
    if not _in_colour():
        sys.stdout.write(plain(lines))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False, force_terminal=True)
    for line in lines:
        console.print(Text.assemble(*((text, style) for text, style in line)))


def _in_colour() -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
