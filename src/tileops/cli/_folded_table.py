"""A table as lines that fit a width: what has no room beside the rest of a row stands below it."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tileops.cli._printable import printable
from tileops.cli._render import Line
from tileops.cli._table import Table

__all__ = ["folded_lines"]

_GAP = "  "
_BELOW = " " * 6
_DEEPER = " " * 4


def folded_lines(table: Table, width: int) -> Iterator[Line]:
    """Yield the table, its columns aligned and the widest folded below every row where need be.

    No word is broken and no command either, but at the backslash where a shell goes on.
    """
    for part in textwrap.wrap(printable(table.title), width, subsequent_indent=_GAP):
        yield ((part, "bold"),)
    if table.rows:
        cells = [tuple(map(printable, row)) for row in (table.names, *table.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        beside, below = _parted(widths, table.head, width)
        for number, row in enumerate(cells):
            texts = [row[place].ljust(widths[place]) for place in beside]
            yield ((f"{_GAP}{_GAP.join(texts)}".rstrip(), "" if number else "dim"),)
            if number:
                yield from _details(table.names, row, below, width)
    yield ()


def _parted(widths: Sequence[int], head: int, width: int) -> tuple[list[int], list[int]]:
    """Part the columns into those beside one another and those below; the head goes last."""
    beside = list(range(len(widths)))
    while len(beside) > 1 and sum(widths[one] + len(_GAP) for one in beside) > width:
        free = [one for one in beside if one >= head] or beside[1:]
        beside.remove(max(free, key=lambda one: (widths[one], one)))
    return beside, [one for one in range(len(widths)) if one not in beside]


def _details(
    names: Sequence[str], row: Sequence[str], below: Sequence[int], width: int
) -> Iterator[Line]:
    margin = max((len(names[one]) for one in below), default=0) + len(_GAP)
    room = width - len(_BELOW) - margin
    for place in below:
        if not row[place]:
            continue
        first, *more = _wrapped(row[place], max(room, len(_BELOW)))
        yield ((f"{_BELOW}{names[place].ljust(margin)}", "dim"), (first, ""))
        for text in more:
            yield ((" " * (len(_BELOW) + margin) + text, ""),)


def _wrapped(text: str, room: int) -> list[str]:
    if len(text) <= room:
        return [text]
    if text.startswith("tileops explain "):
        return _continued(text, room)
    return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)


def _continued(command: str, room: int) -> list[str]:
    """Break a command before its options, each with its value, as a shell reads it in one."""
    lines = [""]
    for words in _phrases(shlex.split(command)):
        phrase = shlex.join(words)
        joined = f"{lines[-1]} {phrase}" if lines[-1] else phrase
        if lines[-1] and len(joined) + len(" \\") > room:
            lines.append(f"{_DEEPER}{phrase}")
        else:
            lines[-1] = joined
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def _phrases(words: Sequence[str]) -> Iterator[Sequence[str]]:
    starts = [i for i, word in enumerate(words) if i and word.startswith("--")]
    for start, end in pairwise([0, *starts, len(words)]):
        yield words[start:end]
