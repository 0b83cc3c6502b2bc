"""Suppression comments: ``# tileops: ignore[rule-id, ...] -- reason`` on a statement's header."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from tileops.lint.facts._functions import header_of
from tileops.lint.facts._records import Ignore

__all__ = ["ignores_of", "line_ignores"]

_COMMENT = re.compile(r"#\s*tileops:\s*ignore\[(?P<rules>[^\]]*)\](?:\s*--\s*(?P<reason>.*\S))?")
# A file without these bytes needs no second pass over its tokens.
_HINT = re.compile(rb"#\s*tileops:\s*ignore\[")


def ignores_of(data: bytes, tree: ast.Module, lines: list[bytes]) -> tuple[Ignore, ...]:
    """Return the suppressions of a file, in source order."""
    if not _HINT.search(data):
        return ()
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    headers = [header_of(node, lines) for node in statements]
    return tuple(_ignore(token, headers) for token in _comments(lines))


def line_ignores(text: str) -> Iterator[Ignore]:
    """Yield the suppressions of a text without statements, each about its own line."""
    for number, line in enumerate(text.splitlines(), 1):
        match = _COMMENT.search(line)
        if match is not None:
            yield _stated(match, number, line, (number, number))


def _comments(lines: list[bytes]) -> Iterator[tokenize.TokenInfo]:
    # The lines as the parser counts them, whatever ends them in the file.
    text = b"\n".join(lines).decode("utf-8", "surrogateescape")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and _COMMENT.search(token.string):
                yield token
    except (tokenize.TokenError, SyntaxError):
        # The parser took the file, so what the tokenizer stops at lies after the last comment it
        # read.
        return


def _ignore(token: tokenize.TokenInfo, headers: list[tuple[int, int]]) -> Ignore:
    line, column = token.start
    match = _COMMENT.search(token.line, column)
    assert match is not None
    around = [header for header in headers if header[0] <= line <= header[1]]
    # The innermost statement is the one whose header starts last.
    return _stated(match, line, token.line, max(around, default=(line, line)))


def _stated(match: re.Match[str], line: int, text: str, header: tuple[int, int]) -> Ignore:
    rules = tuple(part.strip() for part in match["rules"].split(",") if part.strip())
    before = len(text[: match.start()].encode("utf-8", "surrogateescape"))
    length = len(match.group().encode("utf-8", "surrogateescape"))
    return Ignore((line, before, line, before + length), rules, match["reason"] or "", header)
