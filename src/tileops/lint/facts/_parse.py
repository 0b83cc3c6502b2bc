"""From a file's bytes to its facts, whichever parser takes them."""

import ast
import warnings

from tileops.lint.facts._extract import extract
from tileops.lint.facts._records import FileFacts, SyntaxProblem

__all__ = ["facts_of"]


def facts_of(data: bytes) -> FileFacts:
    """Return the facts of a file; a file no parser takes has a `SyntaxProblem` and nothing else."""
    try:
        return extract(data, parse(data))
    except SyntaxError as error:
        problem = SyntaxProblem(error.lineno or 1, max(error.offset or 1, 1), error.msg)
    except ValueError as error:
        problem = SyntaxProblem(1, 1, str(error))
    except (RecursionError, MemoryError):
        problem = SyntaxProblem(1, 1, "the file nests deeper than the parser can follow")
    return FileFacts(problem=problem)


def parse(data: bytes) -> ast.Module:
    """Parse quietly: a warning about someone's escape sequence is not ours to print."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(data)
