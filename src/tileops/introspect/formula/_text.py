"""The written form of terms: s-expressions such as ``(and (le n 256) (in dtype float16))``.

The inventory holds formulas in this form. `read` is the inverse of `write`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Final

from tileops.introspect.formula._term import Term, Value

__all__ = ["FormulaSyntaxError", "read", "write"]

_SYMBOL = re.compile(r"[A-Za-z_][\w.]*\Z")
_TOKEN = re.compile(r'\s*(?:([()])|("(?:[^"\\]|\\.)*")|([^\s()"]+))')
_ARITY = {
    "not": 1,
    "neg": 1,
    "floor": 1,
    "bitlen": 1,
    "exp2": 1,
    "clearlow": 1,
    "pow2": 1,
    "ite": 3,
}
_DEEPEST: Final = 200
"""Deeper formulas are rejected: what reads them descends as deep."""
_BINARY = frozenset(["add", "mul", "div", "mod", "quot", "eq", "ne", "lt", "le", "gt", "ge"])


class FormulaSyntaxError(ValueError):
    """A text is no formula."""


def write(term: Term) -> str:
    """Return *term* as an s-expression."""
    if term.op == "const":
        return _write_value(term.args[0])
    if term.op == "fact":
        return str(term.args[0])
    if term.op == "in":
        name, *values = term.args
        return f"(in {name} {' '.join(map(_write_value, values))})"
    return f"({term.op} {' '.join(map(write, term.args))})"


def _write_value(value: Value) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        plain = _SYMBOL.match(value) and value not in ("none", "true", "false")
        return value if plain else json.dumps(value)
    return str(value)


@cache
def read(text: str) -> Term:
    """Return the term that *text* writes.

    Raises:
        FormulaSyntaxError: It writes none.
    """
    tokens = _tokens(text)
    term = _read(next(tokens, ""), tokens, 0)
    rest = next(tokens, None)
    if rest is not None:
        raise FormulaSyntaxError(f"{rest!r} follows the formula in {text!r}")
    return term


def _tokens(text: str) -> Iterator[str]:
    position, text = 0, text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise FormulaSyntaxError(f"cannot read {text[position:]!r}")
        position = match.end()
        yield match[0].strip()


def _read(token: str, tokens: Iterator[str], depth: int) -> Term:
    if token != "(":
        return _read_leaf(token)
    if depth == _DEEPEST:
        raise FormulaSyntaxError(f"a formula nests deeper than {_DEEPEST} brackets")
    op = next(tokens, "")
    if op == "in":
        name = next(tokens, "")
        return Term("in", name, *(_read_value(one) for one in _until_closed(tokens)))
    parts = [_read(one, tokens, depth + 1) for one in _until_closed(tokens)]
    expected = 2 if op in _BINARY else _ARITY.get(op)
    if expected is None and op not in ("and", "or"):
        raise FormulaSyntaxError(f"there is no operator {op!r}")
    if expected is not None and len(parts) != expected:
        raise FormulaSyntaxError(f"{op} takes {expected} parts, got {len(parts)}")
    return Term(op, *parts)


def _until_closed(tokens: Iterator[str]) -> Iterator[str]:
    for token in tokens:
        if token == ")":
            return
        yield token
    raise FormulaSyntaxError("a bracket is not closed")


def _read_leaf(token: str) -> Term:
    value = _read_value(token)
    if isinstance(value, str):
        if not _SYMBOL.match(value):
            raise FormulaSyntaxError(f"{token!r} is neither a fact nor a number")
        return Term("fact", value)
    if value is None:
        raise FormulaSyntaxError("none is no formula")
    return Term("const", value)


def _read_value(token: str) -> Value:
    if token in ("none", "true", "false"):
        return {"none": None, "true": True, "false": False}[token]
    if token.startswith('"'):
        text: str = json.loads(token)
        return text
    if _SYMBOL.match(token):
        return token
    try:
        return Fraction(token) if "/" in token else int(token)
    except ValueError as error:
        raise FormulaSyntaxError(f"cannot read the value {token!r}") from error
