"""The records that lint and audit hand to the writers: findings, their fixes, and notices."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Applicability", "Edit", "Finding", "Fix", "Notice", "Range", "Severity"]


class Severity(StrEnum):
    """How much a finding weighs: will fail, breaks a convention, or is a matter of taste."""

    ERROR = "error"
    WARNING = "warning"
    PEDANTIC = "pedantic"


class Applicability(StrEnum):
    """Whether a fix preserves behaviour or needs a reader's judgement."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True, order=True)
class Range:
    """A stretch of one file: lines and columns count characters from 1, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace one range of one file by ``text``."""

    path: str
    range: Range
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What would resolve a finding; ``edits`` stays empty until fixes are asked for."""

    applicability: Applicability
    title: str
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement of one rule about one range of one file.

    Attributes:
        rule: The rule's id.
        severity: How much it weighs.
        path: The file, relative to the root, with forward slashes.
        range: Where in the file.
        message: One sentence.
        symbol: The qualified name of what it concerns, or "" for the whole file.
        excerpt: The source line the range starts on, without its line end.
        fix: What would resolve it, if the rule knows.
        notes: Further sentences, such as why a fix was withheld.
    """

    rule: str
    severity: Severity
    path: str
    range: Range
    message: str
    symbol: str = ""
    excerpt: str = ""
    fix: Fix | None = None
    notes: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[str, int, int, str, int, int, str]:
        """The sort key of every output: path, line, column, rule, then the rest."""
        r = self.range
        return (self.path, r.line, r.column, self.rule, r.end_line, r.end_column, self.message)


@dataclass(frozen=True, slots=True, order=True)
class Notice:
    """Something a reader should know of a file that is no finding and changes no exit code.

    ``kind`` is a word or two, such as "unknown" for what could not be resolved.
    """

    path: str
    range: Range
    kind: str
    message: str
