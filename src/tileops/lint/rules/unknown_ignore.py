"""The rule `unknown-ignore`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Project


class UnknownIgnore(Rule):
    """A suppression comment names rules that exist.

    The comment is ``# tileops: ignore[rule-id, ...] -- reason`` on the header of the statement
    whose finding it suppresses.

    Why:
        A misspelt id suppresses nothing, and an empty list looks as if it suppressed everything.

    Limits:
        Comments of other tools are left alone.
    """

    id = "unknown-ignore"
    severity = Severity.ERROR

    VALID = (
        Valid("no comment", "x = 1\n"),
        Valid("another tool's comment", "x = 1  # noqa: E501\n"),
        Valid("a rule that exists", "x = 1  # tileops: ignore[interface-name] -- kept\n"),
        Valid("a string", "x = '# tileops: ignore[nothing]'\n"),
    )
    INVALID = (
        Invalid(
            "a misspelt id",
            "x = 1  [|# tileops: ignore[interface-nam] -- kept|]\n",
            "there is no rule 'interface-nam'",
        ),
        Invalid(
            "an empty list",
            "x = 1  [|# tileops: ignore[]|]\n",
            "this comment names no rule, so it suppresses nothing",
        ),
        Invalid(
            "one of two",
            "x = 1  [|# tileops: ignore[interface-name, E501]|]\n",
            "there is no rule 'E501'",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report comments that name no rule or an unknown one."""
        for module in project.own_modules:
            for ignore in module.facts.ignores:
                if not ignore.rules:
                    message = "this comment names no rule, so it suppresses nothing"
                    yield self.report(module, ignore.span, message)
                for rule in ignore.rules:
                    if rule not in project.rule_ids:
                        yield self.report(module, ignore.span, f"there is no rule {rule!r}")
