"""The rule `syntax-error`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Project


class SyntaxErrors(Rule):
    """A file that neither parser takes is reported, not skipped.

    Nothing in such a file is checked, so silence about it would read as approval.

    Why:
        A linter that skips what it cannot read reports "no findings" for a broken tree.

    Limits:
        Syntax newer than the running Python is read by libcst, as far as libcst knows it.
    """

    id = "syntax-error"
    severity = Severity.ERROR

    VALID = (
        Valid("an empty module", ""),
        Valid("a class", "class LayerNormFwdInterface(KernelInterface): ...\n"),
        Valid(
            "several statements on a line",
            "a = 1; b = 2\n",
        ),
    )
    INVALID = (
        Invalid("an open bracket", "x = [||](\n", "'(' was never closed"),
        Invalid("a stray word", "x = 1 [||]y\n", "invalid syntax"),
        Invalid(
            "another file stays checked",
            {"src/a.py": "x = [||]]\n", "src/b.py": "y = 1\n"},
            "unmatched ']'",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report each file's syntax problem."""
        for module in project.own_modules:
            problem = module.facts.problem
            if problem is not None:
                at = (problem.line, problem.column - 1, problem.line, problem.column - 1)
                yield self.report(module, at, problem.message)
