"""Findings for people: one line each (concise), or with the source line and its fix (full)."""

from tileops.findings._finding import Finding
from tileops.findings._report import FindingReport

__all__ = ["write_concise", "write_full"]


def write_concise(report: FindingReport) -> str:
    """Return one ``path:line:column: severity rule: message`` line per finding."""
    return "".join(f"{_headline(finding)}\n" for finding in report.findings)


def write_full(report: FindingReport) -> str:
    """Return the concise lines, each followed by the source line, its notes and its fix."""
    return "".join(_block(finding) for finding in report.findings) + _total(report)


def _headline(finding: Finding) -> str:
    place = f"{finding.path}:{finding.range}"
    return f"{place}: {finding.severity} {finding.rule}: {finding.message}"


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
