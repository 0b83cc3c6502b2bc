"""Facts: what one fast `ast` pass keeps of a file, as records that a cache can hold."""

from tileops.lint.facts._parse import facts_of
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
    "Read",
    "Site",
    "Span",
    "SyntaxProblem",
    "Value",
    "facts_of",
    "pyproject_facts",
]
