"""From a file's bytes to its tree and its facts, whichever parser takes them."""

import ast
import io
import tokenize
import warnings
from dataclasses import dataclass

from tileops.lint.facts._extract import extract
from tileops.lint.facts._records import FileFacts, SyntaxProblem

__all__ = ["Parsed", "facts_of", "parse"]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A tree and the UTF-8 text its positions count in.

    ``newer`` says that syntax newer than the running Python was blanked out of the text.
    """

    tree: ast.Module
    data: bytes
    newer: bool = False


def facts_of(data: bytes) -> FileFacts:
    """Return the facts of a file; a file no parser takes has a `SyntaxProblem` and nothing else."""
    try:
        parsed = parse(data)
        return extract(parsed.data, parsed.tree, newer=parsed.newer)
    except SyntaxError as error:
        problem = SyntaxProblem(error.lineno or 1, max(error.offset or 1, 1), error.msg)
    except ValueError as error:
        problem = SyntaxProblem(1, 1, str(error))
    except (RecursionError, MemoryError):
        problem = SyntaxProblem(1, 1, "the file nests deeper than the parser can follow")
    return FileFacts(problem=problem)


def parse(data: bytes) -> Parsed:
    """Parse a file, with libcst's help where it is newer than the running Python.

    Raises:
        SyntaxError: Neither parser takes the file.
        ValueError: It holds what no source can hold.
        RecursionError: It nests too deeply.
        MemoryError: The same, as the parser may put it.
    """
    try:
        tree = _quietly(data)
    except SyntaxError:
        text = _decoded(data)
        newer = None if text is None else _lowered(text)
        if newer is None:
            raise
        return Parsed(newer[1], newer[0].encode("utf-8", "surrogateescape"), newer=True)
    text = None if data.isascii() else _decoded(data)
    return Parsed(tree, data if text is None else text.encode())


def _quietly(source: bytes | str) -> ast.Module:
    """Parse; a warning about someone's escape sequence is not ours to print."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def _decoded(data: bytes) -> str | None:
    """Return the text of a file without its byte order mark, None where it has none."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding).removeprefix("\ufeff")
    except (SyntaxError, UnicodeDecodeError):
        return None


def _lowered(text: str) -> tuple[str, ast.Module] | None:
    from tileops.lint.facts._newer import lowered

    plain = lowered(text)
    if plain is None:
        return None
    try:
        return plain, _quietly(plain)
    except (SyntaxError, ValueError):
        return None
