"""What a writer renders: the findings of one run and the tool that made them."""

from collections.abc import Iterable
from dataclasses import dataclass

from tileops.findings._finding import Finding, Notice, Severity

__all__ = ["FindingReport", "RuleSummary"]


@dataclass(frozen=True, slots=True)
class RuleSummary:
    """What a report says about one rule: its id, weight and first sentence."""

    id: str
    severity: Severity
    summary: str


@dataclass(frozen=True, slots=True)
class FindingReport:
    """The findings of one run, sorted, with what a reader needs to place them.

    Attributes:
        schema: The name and version of the JSON form, such as "tileops.lint/1.0".
        tool: The command that ran.
        version: The version of the distribution that ran.
        files: How many files were looked at.
        rules: The rules that could have spoken, by id.
        findings: What they said, in the order of `Finding.order`.
        notices: What else a reader should know, sorted.
    """

    schema: str
    tool: str
    version: str
    files: int
    rules: tuple[RuleSummary, ...] = ()
    findings: tuple[Finding, ...] = ()
    notices: tuple[Notice, ...] = ()

    @classmethod
    def of(
        cls,
        schema: str,
        tool: str,
        version: str,
        *,
        files: int,
        rules: Iterable[RuleSummary],
        findings: Iterable[Finding],
        notices: Iterable[Notice] = (),
    ) -> "FindingReport":
        """Sort and freeze."""
        return cls(
            schema,
            tool,
            version,
            files,
            tuple(sorted(rules, key=lambda rule: rule.id)),
            tuple(sorted(findings, key=lambda finding: finding.order)),
            tuple(sorted(notices)),
        )
