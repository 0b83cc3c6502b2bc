"""What a run of the linter is asked for, and what comes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tileops.findings import Applicability, Finding, FindingReport, Notice, RuleSummary
from tileops.lint._tree import Tree
from tileops.lint._write import Change

__all__ = ["SCHEMA", "LintRun", "Request", "installed_version"]

SCHEMA = "tileops.lint/1.0"


@dataclass(frozen=True, slots=True)
class Request:
    """What a run is asked for.

    Attributes:
        paths: Files and folders to show findings for; none means the whole project.
        select: Rules, tiers or their first letters to run instead of the configured ones.
        ignore: Rules or tiers to leave out as well.
        jobs: How many processes may parse.
        cache: Whether to read and write the project's cache.
        fix: Which fixes to make; none leaves every file alone.
        write: Whether to write fixed files, or only to say how they would change.
        baseline: The baseline file; None means the configured one, "" none.
        update_baseline: Whether to write the findings that are left into the baseline.
        show_unknown: Whether to say which classes derive from something unknown.
        edits: Whether findings carry the edits of their fixes.
    """

    paths: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    jobs: int = 1
    cache: bool = True
    fix: frozenset[Applicability] = frozenset()
    write: bool = True
    baseline: str | None = None
    update_baseline: bool = False
    show_unknown: bool = False
    edits: bool = False


@dataclass(frozen=True, slots=True)
class LintRun:
    """The outcome of a run.

    Attributes:
        tree: The files.
        rules: The rules that ran.
        findings: What they found and was not fixed, without what the baseline knows.
        suppressed: How many findings comments suppress.
        notices: What else a reader should know of a file.
        known: How many findings the baseline knows.
        fixed: How many findings fixes resolved.
        changes: The files that fixes changed, or would change.
    """

    tree: Tree
    rules: tuple[RuleSummary, ...]
    findings: tuple[Finding, ...]
    suppressed: int = 0
    notices: tuple[Notice, ...] = ()
    known: int = 0
    fixed: int = 0
    changes: Mapping[str, Change] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Whether the files as they were found have nothing to report."""
        return not self.findings and not self.fixed

    @property
    def checked(self) -> int:
        """How many files findings are shown for."""
        return len(self.tree.files if self.tree.wanted is None else self.tree.wanted)

    def report(self, version: str = "") -> FindingReport:
        """Return the findings as the writers take them.

        ``version`` is what machine-readable forms name; looking it up takes as long as a warm run.
        """
        return FindingReport.of(
            SCHEMA,
            "tileops lint",
            version,
            files=self.checked,
            rules=self.rules,
            findings=self.findings,
            notices=self.notices,
        )


def installed_version() -> str:
    """Return the version of the installed distribution."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tileops")
    except PackageNotFoundError:
        # The hooks of a checkout run its sources without installing them.
        return "0+source"
