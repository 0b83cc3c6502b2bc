"""From a linked project to findings: rules, then suppressions, in a stable order."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tileops.findings import Finding, Fix
from tileops.lint._rule import Report, Rule, Sources
from tileops.lint.facts import Ignore
from tileops.lint.index import Project

__all__ = ["Checked", "check", "finding_of"]

_UNUSED = "unused-ignore"


@dataclass(frozen=True, slots=True)
class Checked:
    """What the rules reported: what stands, and what a comment suppressed."""

    standing: tuple[Report, ...]
    suppressed: tuple[Report, ...] = field(default=())


def check(project: Project, rules: Iterable[Rule]) -> Checked:
    """Run the rules over a project; reports are sorted and equal ones merged."""
    enabled = {rule.id: rule for rule in rules}
    reports = {_order(r): r for rule in enabled.values() for r in rule.check(project)}
    ordered = [reports[key] for key in sorted(reports)]
    used: set[tuple[str, Ignore, str]] = set()
    standing: list[Report] = []
    suppressed: list[Report] = []
    for report in ordered:
        facts = project.files.get(report.path)
        if facts is None:
            continue
        ignore = next((i for i in facts.ignores if _covers(i, report)), None)
        if ignore is None:
            standing.append(report)
        else:
            used.add((report.path, ignore, report.rule))
            suppressed.append(report)
    if _UNUSED in enabled:
        standing.extend(_unused(project, enabled, used))
        standing.sort(key=_order)
    return Checked(tuple(standing), tuple(suppressed))


def finding_of(report: Report, sources: Sources) -> Finding:
    """Return the finding a report becomes; its fix has no edits yet."""
    source = sources[report.path]
    repair = report.repair
    return Finding(
        rule=report.rule,
        severity=report.severity,
        path=report.path,
        range=source.range(report.span),
        message=report.message,
        symbol=report.symbol,
        excerpt=_printable(source.line(report.span[0]).rstrip("\r\n")),
        fix=None if repair is None else Fix(repair.applicability, repair.title),
    )


def _printable(text: str) -> str:
    """Return a text without what no codec can write: the bytes its own could not read."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _order(report: Report) -> tuple[str, int, int, str, int, int, str]:
    line, column, end_line, end_column = report.span
    return (report.path, line, column, report.rule, end_line, end_column, report.message)


def _covers(ignore: Ignore, report: Report) -> bool:
    first, last = ignore.header
    return first <= report.span[0] <= last and report.rule in ignore.rules


def _unused(
    project: Project, enabled: dict[str, Rule], used: set[tuple[str, Ignore, str]]
) -> Iterator[Report]:
    """Report every suppressed rule that ran and said nothing there."""
    for path, facts in project.files.items():
        for ignore in facts.ignores:
            for rule in dict.fromkeys(ignore.rules):
                if rule in enabled and (path, ignore, rule) not in used:
                    message = f"nothing here breaks {rule}; remove it from the comment"
                    severity = enabled[_UNUSED].severity
                    yield Report(_UNUSED, severity, path, ignore.span, message, "")
