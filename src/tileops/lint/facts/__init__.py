"""Facts: what one fast `ast` pass keeps of a file, as records that a cache can hold."""

from tileops.lint.facts._foreign import is_foreign
from tileops.lint.facts._parse import Parsed, facts_of, parse
from tileops.lint.facts._pyproject import pyproject_facts
from tileops.lint.facts._records import (
    Attribute,
    ClassFacts,
    EntryPoint,
    FileFacts,
    FunctionFacts,
    Ignore,
    Note,
    Param,
    Read,
    Site,
    Span,
    SyntaxProblem,
    Value,
)

__all__ = [
    "Attribute",
    "ClassFacts",
    "EntryPoint",
    "FileFacts",
    "FunctionFacts",
    "Ignore",
    "Note",
    "Param",
    "Parsed",
    "Read",
    "Site",
    "Span",
    "SyntaxProblem",
    "Value",
    "facts_of",
    "is_foreign",
    "parse",
    "pyproject_facts",
]
