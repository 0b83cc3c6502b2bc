"""One file's bytes, and the way between byte positions, characters and lines."""

import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property

from tileops.findings import Edit, Range
from tileops.lint.facts import Span

__all__ = ["Source"]

_LINE_END = re.compile(r"\r\n|\r|\n")


class Source:
    """A file as it was read.

    Facts hold the positions of `ast`: lines from 1, columns in UTF-8 bytes from 0. Findings hold
    characters from 1. Edits are spliced into the decoded text, whose line ends are never
    translated, so that every byte outside an edit stays what it was.
    """

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data

    @cached_property
    def encoding(self) -> str:
        """The codec the file declares; "utf-8" when it declares none or an unknown one."""
        try:
            name, _ = tokenize.detect_encoding(io.BytesIO(self.data).readline)
        except SyntaxError:
            return "utf-8"
        return "utf-8" if name == "utf-8-sig" else name

    @cached_property
    def mark(self) -> str:
        """The byte order mark the file starts with, or ""."""
        return "\ufeff" if self.data.startswith(b"\xef\xbb\xbf") else ""

    @cached_property
    def text(self) -> str:
        """The decoded text without its byte order mark."""
        text = self.data.decode(self.encoding, "surrogateescape")
        return text.removeprefix("\ufeff")

    @cached_property
    def starts(self) -> list[int]:
        """The offset in `text` at which each line starts."""
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    @cached_property
    def newline(self) -> str:
        """The line end the file uses first, "\\n" when it has none."""
        found = _LINE_END.search(self.text)
        return found.group() if found else "\n"

    def line(self, number: int) -> str:
        """Return a line with its line end; "" beyond the last."""
        if not 1 <= number <= len(self.starts):
            return ""
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[self.starts[number - 1] : end]

    def indent(self, number: int) -> str:
        """Return the blanks a line starts with."""
        line = self.line(number)
        return line[: len(line) - len(line.lstrip(" \t\f"))]

    def range(self, span: Span) -> Range:
        """Return the range in characters of a span in bytes."""
        line, column, end_line, end_column = span
        return Range(
            line, self._column(line, column) + 1, end_line, self._column(end_line, end_column) + 1
        )

    def slice(self, span: Span) -> str:
        """Return the text a span covers."""
        where = self.range(span)
        start = self.offset(where.line, where.column)
        return self.text[start : self.offset(where.end_line, where.end_column)]

    def offset(self, line: int, column: int) -> int:
        """Return where a line and a column in characters lie in `text`."""
        if line > len(self.starts):
            return len(self.text)
        return min(self.starts[line - 1] + column - 1, len(self.text))

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line and the column in characters of an offset in `text`."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def splice(self, edits: Iterable[Edit]) -> bytes:
        """Return the file's bytes after the edits, which must not overlap.

        Raises:
            ValueError: Two edits overlap, or the text does not survive its own encoding.
        """
        if (self.mark + self.text).encode(self.encoding, "surrogateescape") != self.data:
            raise ValueError(f"{self.path} does not decode to a text that encodes back to it")
        pieces: list[str] = [self.mark]
        done = 0
        for edit in sorted(edits):
            where = edit.range
            start = self.offset(where.line, where.column)
            if start < done:
                raise ValueError(f"two edits of {self.path} overlap on line {where.line}")
            pieces += [self.text[done:start], edit.text]
            done = self.offset(where.end_line, where.end_column)
        pieces.append(self.text[done:])
        return "".join(pieces).encode(self.encoding, "surrogateescape")

    def _column(self, line: int, column: int) -> int:
        text = self.line(line)
        if text.isascii():
            return column
        return len(text.encode("utf-8", "surrogateescape")[:column].decode("utf-8", "ignore"))
