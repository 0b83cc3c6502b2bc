"""What a rule is, and what it says."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._source import Source
from tileops.lint.facts import ClassFacts, FunctionFacts, Note, Span
from tileops.lint.index import ClassNode, Kind, Module, Project

if TYPE_CHECKING:
    from tileops.lint._body import Body

__all__ = ["BodyRule", "Repair", "Report", "Rule", "Sources"]

Sources = Mapping[str, Source]
"""The files of a run by path, read on demand."""


@dataclass(frozen=True, slots=True)
class Repair:
    """How a report can be resolved; ``build`` is called only when fixes are asked for.

    ``build`` returns the edits, all of which are applied or none; no edits means that the code at
    hand is not of a form the rule can rewrite.
    """

    applicability: Applicability
    title: str
    build: Callable[[Sources], Iterable[Edit]]


@dataclass(frozen=True, slots=True)
class Report:
    """What a rule says about a span of a file, before it becomes a finding."""

    rule: str
    severity: Severity
    path: str
    span: Span
    message: str
    symbol: str
    repair: Repair | None = None


class Rule:
    """A rule over linked facts.

    The docstring of a subclass is its documentation: a sentence, paragraphs, and the sections
    ``Why:`` and ``Limits:``. It states ``id``, ``severity``, whether it needs other files, which
    kinds of fix it offers, and its cases.
    """

    id: ClassVar[str]
    severity: ClassVar[Severity]
    cross_file: ClassVar[bool] = False
    fixes: ClassVar[tuple[Applicability, ...]] = ()
    VALID: ClassVar[tuple[Valid, ...]]
    INVALID: ClassVar[tuple[Invalid, ...]]

    def check(self, project: Project) -> Iterator[Report]:
        """Yield what the rule has to say about a project, in any order."""
        raise NotImplementedError

    def report(
        self,
        where: Module,
        span: Span,
        message: str,
        *,
        symbol: str = "",
        repair: Repair | None = None,
        severity: Severity | None = None,
    ) -> Report:
        """Return a report of this rule about a span of a module."""
        named = f"{where.name}.{symbol}" if symbol else where.name
        weight = self.severity if severity is None else severity
        return Report(self.id, weight, where.path, span, message, named, repair)


class BodyRule(Rule):
    """A rule that looks into the bodies of contract classes.

    `visit` sees a libcst slice, only when the file changed, before anything is known of other
    files; its notes are kept with the facts. `judge` sees each note once the project is linked,
    when it is certain that the class is of one of the ``kinds``.
    """

    methods: ClassVar[frozenset[str]] = frozenset()
    """The methods whose slices the rule visits; "" stands for the class header."""
    kinds: ClassVar[frozenset[Kind]]

    def wants(self, owner: ClassFacts, method: FunctionFacts | None) -> bool:
        """Say whether `visit` is to see this method of this class, or its header when None."""
        return ("" if method is None else method.name) in self.methods

    def visit(self, body: "Body") -> Iterator[Note]:
        """Yield notes about one slice."""
        raise NotImplementedError

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Yield the reports a note leads to."""
        raise NotImplementedError

    def check(self, project: Project) -> Iterator[Report]:
        """Judge the notes of this rule."""
        for owner, note in project.notes(self.id):
            if owner.kind in self.kinds:
                yield from self.judge(project, owner, note)
