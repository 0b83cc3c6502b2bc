"""Long terms over several lines, a condition each, indented below what joins them."""

from __future__ import annotations

from collections.abc import Iterator

from tileops.introspect.formula._render import render
from tileops.introspect.formula._term import Term

__all__ = ["outline"]

_STEP = "  "


def outline(term: Term, width: int = 72) -> tuple[str, ...]:
    """Return *term* as lines of at most *width* characters where its parts are no longer."""
    return tuple(_lines(term, "", width))


def _lines(term: Term, indent: str, width: int) -> Iterator[str]:
    text = render(term)
    if len(indent) + len(text) <= width or term.op not in ("and", "or", "ite"):
        yield f"{indent}{text}"
        return
    if term.op == "ite":
        yield from _cases(term, indent, width)
        return
    yield f"{indent}{'all' if term.op == 'and' else 'any'} of"
    for part in term.args:
        yield from _lines(part, indent + _STEP, width)


def _cases(term: Term, indent: str, width: int) -> Iterator[str]:
    condition, then, otherwise = term.args
    yield f"{indent}where {render(condition)}"
    yield from _lines(then, indent + _STEP, width)
    yield f"{indent}otherwise"
    yield from _lines(otherwise, indent + _STEP, width)
