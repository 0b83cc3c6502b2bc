"""Suppression comments: ``# tileops: ignore[rule-id, ...] -- reason`` on a statement's header."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from tileops.lint.facts._functions import header_of
from tileops.lint.facts._records import Ignore

__all__ = ["ignores_of"]

_COMMENT = re.compile(r"#\s*tileops:\s*ignore\[(?P<rules>[^\]]*)\](?:\s*--\s*(?P<reason>.*\S))?")
# A file without these bytes needs no second pass over its tokens.
_HINT = re.compile(rb"#\s*tileops:\s*ignore\[")


def ignores_of(data: bytes, tree: ast.Module, lines: list[bytes]) -> tuple[Ignore, ...]:
    """Return the suppressions of a file, in source order."""
    if not _HINT.search(data):
        return ()
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    headers = [header_of(node, lines) for node in statements]
    return tuple(_ignore(token, headers) for token in _comments(data))


def _comments(data: bytes) -> Iterator[tokenize.TokenInfo]:
    try:
        for token in tokenize.tokenize(io.BytesIO(data).readline):
            if token.type == tokenize.COMMENT and _COMMENT.search(token.string):
                yield token
    except (tokenize.TokenError, SyntaxError):
        # The parser took the file, so what the tokenizer stops at lies after the last comment it
        # read.
        return


def _ignore(token: tokenize.TokenInfo, headers: list[tuple[int, int]]) -> Ignore:
    match = _COMMENT.search(token.string)
    assert match is not None
    rules = tuple(part.strip() for part in match["rules"].split(",") if part.strip())
    line, column = token.start
    start = column + match.start()
    before = len(token.line[:start].encode("utf-8", "surrogateescape"))
    length = len(match.group().encode("utf-8", "surrogateescape"))
    span = (line, before, line, before + length)
    around = [header for header in headers if header[0] <= line <= header[1]]
    # The innermost statement is the one whose header starts last.
    return Ignore(span, rules, match["reason"] or "", max(around, default=(line, line)))
