"""Writing an answer to stdout: styled where a person reads it, plain where a program does."""

from __future__ import annotations

import io
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from tileops.cli._stdout import emit

Span = tuple[str, str]
"""Text and its style; the empty style is plain."""

Line = tuple[Span, ...]
"""Spans that follow one another.

On a terminal too narrow for a line of several spans, the last one is wrapped under its own
beginning, or stands below the others, which are fitted alike. A line of one span is never broken,
so a command can be copied.
"""


def columns(rows: Sequence[Line], *, gap: str = "  ") -> Iterator[Line]:
    """Pad every span but a row's last so that the spans of all rows stand in columns."""
    widths: dict[int, int] = {}
    for row in rows:
        for place, (text, _) in enumerate(row[:-1]):
            widths[place] = max(widths.get(place, 0), len(text))
    for row in rows:
        padded = [(text.ljust(widths[i]) + gap, style) for i, (text, style) in enumerate(row[:-1])]
        yield (*padded, row[-1])


def plain(lines: Iterable[Line]) -> str:
    """Return the lines without their styles."""
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)


def write(lines: Iterable[Line]) -> None:
    """Write lines to stdout, in colour and to its width on a terminal unless told otherwise."""
    if sys.stdout.isatty():
        lines = _fitted(lines, columns_at_hand())
    emit(_coloured(lines) if _in_colour() else plain(lines))


def columns_at_hand() -> int:
    """Return how many columns an answer has: those of a terminal, and always as many elsewhere."""
    if not sys.stdout.isatty():
        return _ELSEWHERE
    return max(shutil.get_terminal_size().columns, _NARROWEST)


_ELSEWHERE = 80
"""Columns of a page, so that the bytes of an answer do not depend on who reads it."""


def without_roots(text: str) -> str:
    """Shorten the paths in a message to what follows the folder they are imported from."""
    for root in sorted({*sys.path, os.getcwd()}, key=lambda one: (-len(one), one)):
        if len(root) > 1:
            text = text.replace(f"{root}{os.sep}", "")
    return text


def _fitted(lines: Iterable[Line], width: int) -> Iterator[Line]:
    for line in lines:
        indent = sum(len(text) for text, _ in line[:-1])
        if len(line) < 2 or indent + len(line[-1][0]) <= width:
            yield line
        elif width - indent >= _NARROWEST:
            yield from _wrapped(line, indent, width)
        elif len(line) > 2:
            # No room beside the others: the last one stands below them.
            *rest, (last, style) = line[:-1]
            yield from _fitted([(*rest, (last.rstrip(), style))], width)
            margin = len(line[0][0]) - len(line[0][0].lstrip())
            yield ((" " * (margin + 4), ""), line[-1])
        else:
            yield line


_NARROWEST = 24
"""Columns; text wrapped into fewer reads worse than a long line."""


def _wrapped(line: Line, indent: int, width: int) -> Iterator[Line]:
    text, style = line[-1]
    first, *more = textwrap.wrap(text, width - indent, break_long_words=False) or [""]
    yield (*line[:-1], (first, style))
    for part in more:
        yield ((" " * indent, ""), (part, style))


def _coloured(lines: Iterable[Line]) -> str:
    from rich.console import Console
    from rich.text import Text

    buffer = io.StringIO()
    console = Console(
        file=buffer,
        force_terminal=True,
        color_system="standard",
        no_color=False,
        soft_wrap=True,
        highlight=False,
    )
    for line in lines:
        console.print(Text.assemble(*((text, style) for text, style in line)))
    return buffer.getvalue()


def _in_colour() -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
