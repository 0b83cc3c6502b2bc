"""The rule `unused-ignore`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Project


class UnusedIgnore(Rule):
    """A suppression comment suppresses something.

    A rule named in the comment that ran and found nothing on that statement is reported.

    Why:
        A comment that outlives its finding hides the next one on the same line.

    Limits:
        Rules that are switched off are not judged. Nothing suppresses this rule.
    """

    id = "unused-ignore"
    severity = Severity.WARNING

    VALID = (
        Valid("no comment", "x = 1\n"),
        Valid("a rule that did not run", "x = 1  # tileops: ignore[interface-name] -- kept\n"),
        Valid("another tool's comment", "x = 1  # noqa: E501\n"),
    )
    INVALID = (
        Invalid(
            "a rule that found nothing",
            "x = 1  [|# tileops: ignore[unused-ignore]|]\n",
            "nothing here breaks unused-ignore; remove it from the comment",
        ),
        Invalid(
            "on a class",
            "class A:  [|# tileops: ignore[unused-ignore] -- because|]\n    x = 1\n",
            "nothing here breaks unused-ignore; remove it from the comment",
        ),
        Invalid(
            "twice",
            "x = 1  [|# tileops: ignore[unused-ignore]|]\n"
            "y = 2  [|# tileops: ignore[unused-ignore]|]\n",
            (
                "nothing here breaks unused-ignore; remove it from the comment",
                "nothing here breaks unused-ignore; remove it from the comment",
            ),
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report nothing: only after the other rules is it known which comments were used."""
        return iter(())
