"""Fixing a tree that was read: which findings to resolve, and what is left of them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tileops.findings import Applicability, Finding
from tileops.lint._answer import Reading
from tileops.lint._baseline import Baseline
from tileops.lint._check import finding_of
from tileops.lint._fix import Name, apply_fixes, edits_of, name_of
from tileops.lint._judge import external_facts
from tileops.lint._memory import Workspace
from tileops.lint._registry import all_rules, rule_ids
from tileops.lint._rule import Report
from tileops.lint._write import Change

__all__ = ["repair", "with_edits"]


def repair(
    reading: Reading,
    rules: Sequence[str],
    allowed: frozenset[Applicability],
    baseline: Baseline,
) -> tuple[tuple[Finding, ...], int, dict[str, Change]]:
    """Return the findings that are left after fixing, how many are not, and the changed files.

    Only findings that would be shown are fixed; a fix may change other files of the tree. A
    finding whose fix was withheld says why in a note. Nothing is written.
    """
    before = _workspace(reading, rules)
    kept = set(_known(before, _standing(before, reading), baseline))

    def wanted(report: Report) -> bool:
        shown = reading.tree.shows(report.path) and reading.applies(report.rule, report.path)
        return shown and name_of(report) not in kept

    run = apply_fixes(before, allowed, wanted)
    after = run.workspace
    left = tuple(
        _noted(finding_of(report, after), run.withheld.get(name_of(report), ""))
        for report in _standing(after, reading)
    )
    texts = ((path, before.data(path), after.data(path)) for path in after)
    changes = {path: Change(old, new) for path, old, new in texts if old != new}
    return left, len(run.applied), changes


def with_edits(reading: Reading, rules: Sequence[str]) -> tuple[Finding, ...]:
    """Return the findings of a tree that was read, each with the edits that would resolve it."""
    workspace = _workspace(reading, rules)
    return tuple(_edited(report, workspace) for report in _standing(workspace, reading))


def _edited(report: Report, workspace: Workspace) -> Finding:
    finding = finding_of(report, workspace)
    if report.repair is None or finding.fix is None:
        return finding
    edits = edits_of(report.repair, workspace)
    return replace(finding, fix=replace(finding.fix, edits=edits))


def _workspace(reading: Reading, rules: Sequence[str]) -> Workspace:
    facts = reading.facts()
    return Workspace(
        {path: reading.data(path) for path in reading.tree.files},
        [all_rules()[name] for name in rules],
        external=external_facts(facts),
        rule_ids=frozenset(rule_ids()),
        known=facts,
    )


def _standing(workspace: Workspace, reading: Reading) -> list[Report]:
    return [r for r in workspace.check().standing if reading.applies(r.rule, r.path)]


def _known(workspace: Workspace, reports: Sequence[Report], baseline: Baseline) -> Iterable[Name]:
    """Yield the names of the reports that the baseline knows."""
    findings = [finding_of(report, workspace) for report in reports]
    _, old = baseline.split(findings)
    known = {id(finding) for finding in old}
    pairs = zip(reports, findings, strict=True)
    return (name_of(report) for report, finding in pairs if id(finding) in known)


def _noted(finding: Finding, reason: str) -> Finding:
    return replace(finding, notes=(f"the fix was withheld: {reason}",)) if reason else finding
