"""What fixes change, as a unified diff that ``git apply`` and ``patch -p1`` take."""

from collections.abc import Iterator
from difflib import unified_diff

from tileops.lint._source import Source
from tileops.lint._write import Change

__all__ = ["diff_of"]


def diff_of(path: str, change: Change) -> str:
    """Return the diff of one file."""
    before, after = _lines(path, change.before or b""), _lines(path, change.after)
    return "".join(_marked(unified_diff(before, after, f"a/{path}", f"b/{path}")))


def _lines(path: str, data: bytes) -> list[str]:
    """Return the lines of a file as a diff counts them, which end with a line feed alone."""
    source = Source(path, data)
    lines = (source.mark + source.text).split("\n")
    return [f"{line}\n" for line in lines[:-1]] + lines[-1:] * bool(lines[-1])


def _marked(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line
        if not line.endswith("\n"):
            yield "\n\\ No newline at end of file\n"
