"""Findings for people: one line each (concise), with the source line and its fix, or counted."""

from collections import Counter

from tileops.findings._finding import Finding, Notice
from tileops.findings._report import FindingReport

__all__ = ["write_concise", "write_full", "write_statistics"]


def write_concise(report: FindingReport) -> str:
    """Return one ``path:line:column: severity rule: message`` line per finding and notice."""
    return "".join(f"{_headline(finding)}\n" for finding in report.findings) + _remarks(report)


def write_full(report: FindingReport) -> str:
    """Return the concise lines, each followed by the source line, its notes and its fix."""
    blocks = "".join(_block(finding) for finding in report.findings)
    return blocks + _remarks(report) + _total(report)


def write_statistics(report: FindingReport) -> str:
    """Return one line per rule that found something: how often, how many with a fix, which."""
    counts = Counter(finding.rule for finding in report.findings)
    fixable = Counter(f.rule for f in report.findings if f.fix is not None)
    width = max([len(str(count)) for count in counts.values()], default=1)
    lines = [
        f"{count:{width}}  {fixable[rule]:{width}} fixable  {rule}\n"
        for rule, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return "".join(lines) + _total(report)


def _headline(finding: Finding) -> str:
    place = f"{finding.path}:{finding.range}"
    return f"{place}: {finding.severity} {finding.rule}: {finding.message}"


def _remarks(report: FindingReport) -> str:
    return "".join(f"{_remark(notice)}\n" for notice in report.notices)


def _remark(notice: Notice) -> str:
    return f"{notice.path}:{notice.range}: {notice.kind}: {notice.message}"


def _block(finding: Finding) -> str:
    lines = [_headline(finding)]
    if finding.excerpt.strip():
        number = str(finding.range.line)
        margin = " " * len(number)
        lines.append(f"  {number} | {finding.excerpt.expandtabs(1)}")
        lines.append(f"  {margin} | {_underline(finding)}")
    if finding.fix is not None:
        lines.append(f"  fix ({finding.fix.applicability}): {finding.fix.title}")
    lines.extend(f"  note: {note}" for note in finding.notes)
    return "\n".join(lines) + "\n"


def _underline(finding: Finding) -> str:
    start = finding.range.column - 1
    one_line = finding.range.end_line == finding.range.line
    end = finding.range.end_column - 1 if one_line else len(finding.excerpt)
    return " " * start + "^" * max(end - start, 1)


def _total(report: FindingReport) -> str:
    count = len(report.findings)
    files = f"{report.files} file{'' if report.files == 1 else 's'}"
    if not count:
        return f"{files} checked, no findings\n"
    fixable = sum(finding.fix is not None for finding in report.findings)
    return (
        f"{files} checked, {count} finding{'' if count == 1 else 's'}, {fixable} with a known fix\n"
    )
