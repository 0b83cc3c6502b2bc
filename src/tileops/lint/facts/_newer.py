"""Syntax newer than the running Python: libcst reads it, and what is new in it is blanked out.

What is left is as long as the text it replaces and parses with `ast`, so facts keep their
positions. A file that is not valid Python of any version stays invalid, since only constructs
known to be newer are touched. Imported only where the running Python refuses a file.
"""

import ast
import re
from collections.abc import Iterator

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

from tileops.lint._syntax import children

__all__ = ["lowered"]

# libcst overflows the stack of the process on texts that nest deeper than some thousand levels.
_DEEPEST = 200
_PREFIXES = re.compile(rb"(?:(?:[-+~]|\bnot\b|\bawait\b|\blambda:)\s*){1000}")
_OPENING, _CLOSING = b"([{", b")]}"


def lowered(text: str) -> str | None:
    """Return the text without its newer syntax; None where libcst cannot read it or finds none."""
    data = text.encode("utf-8", "surrogateescape")
    if _nests_deeply(data):
        return None
    try:
        module = cst.parse_module(text)
        if module.code != text:
            return None
        spans = MetadataWrapper(module, unsafe_skip_copy=True).resolve(ByteSpanPositionProvider)
        result = bytearray(data)
        for node in _newer(module):
            start, end = spans[node].start, spans[node].start + spans[node].length
            if isinstance(node, cst.TypeParameters):
                end = _parenthesis(data, end)
            result[start:end] = _replaced(node, bytes(data[start:end]))
    except (cst.ParserSyntaxError, RecursionError):
        return None
    return None if result == data else result.decode("utf-8", "surrogateescape")


def _nests_deeply(data: bytes) -> bool:
    depth = deepest = 0
    for byte in data:
        if byte in _OPENING:
            depth += 1
            deepest = max(deepest, depth)
        elif byte in _CLOSING:
            depth = max(depth - 1, 0)
    return deepest > _DEEPEST or _PREFIXES.search(data) is not None


def _newer(module: cst.Module) -> Iterator[cst.CSTNode]:
    """Yield the nodes whose text may be newer, none inside another."""
    stack: list[cst.CSTNode] = [module]
    while stack:
        node = stack.pop()
        match node:
            case cst.TypeAlias() | cst.LazyImport() | cst.LazyImportFrom() | cst.TypeParameters():
                yield node
                continue
            case cst.FormattedString() | cst.TemplatedString() | cst.ConcatenatedString():
                if not _runs(node):
                    yield node
                    continue
            case cst.ExceptHandler(type=cst.Tuple(lpar=[], elements=elements)):
                yield from (e.comma for e in elements if isinstance(e.comma, cst.Comma))
            case cst.ExceptStarHandler(type=cst.Tuple(lpar=[], elements=elements)):
                yield from (e.comma for e in elements if isinstance(e.comma, cst.Comma))
        stack.extend(children(node))


def _runs(node: cst.BaseExpression) -> bool:
    """Say whether the running Python takes an expression."""
    try:
        ast.parse(f"({cst.Module([]).code_for_node(node)})")
    except (SyntaxError, ValueError):
        return False
    return True


def _parenthesis(data: bytes, end: int) -> int:
    """Return where the parenthesis ends that follows type parameters, else their own end."""
    following = data[end:].lstrip()
    return len(data) - len(following) + 1 if following.startswith(b"(") else end


def _replaced(node: cst.CSTNode, text: bytes) -> bytes:
    """Return what takes the place of a node's text: as many bytes, and as many lines."""
    match node:
        case cst.LazyImport() | cst.LazyImportFrom():
            first, line_end, rest = text.partition(b"\n")
            return first.removeprefix(b"lazy").lstrip().ljust(len(first)) + line_end + rest
        case cst.Comma():
            # ``A | B`` is one expression that reads the same names.
            return text.replace(b",", b"|")
        case cst.TypeParameters():
            # Parentheses let the lines that the parameters stood on stay.
            closing = b"" if text.endswith(b"(") else b")"
            return b"(" + _blank(text[1 : len(text) - len(closing)]) + closing
    return _nothing(text)


def _nothing(text: bytes) -> bytes:
    """Return an empty string literal, in brackets where the text has several lines."""
    if b"\n" not in text and b"\r" not in text:
        return b'""'.ljust(len(text))
    return b'(""' + _blank(text[3:-1]) + b")"


def _blank(text: bytes) -> bytes:
    return re.sub(rb"[^\r\n]", b" ", text)
