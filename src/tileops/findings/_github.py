"""Findings as GitHub Actions workflow commands, which annotate the lines of a pull request."""

from tileops.findings._finding import Finding, Notice, Range, Severity
from tileops.findings._report import FindingReport

__all__ = ["write_github"]

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.PEDANTIC: "notice"}


def write_github(report: FindingReport) -> str:
    """Return one workflow command per finding and per notice."""
    lines = [_command(finding) for finding in report.findings]
    lines += [_remark(notice) for notice in report.notices]
    return "".join(f"{line}\n" for line in lines)


def _command(finding: Finding) -> str:
    stated = _properties(finding.path, finding.range, finding.rule)
    return f"::{_COMMANDS[finding.severity]} {stated}::{_data(finding.message)}"


def _remark(notice: Notice) -> str:
    stated = _properties(notice.path, notice.range, notice.kind)
    return f"::notice {stated}::{_data(notice.message)}"


def _properties(path: str, where: Range, title: str) -> str:
    properties = {
        "file": path,
        "line": str(where.line),
        "col": str(where.column),
        "endLine": str(where.end_line),
        "endColumn": str(where.end_column),
        "title": title,
    }
    return ",".join(f"{name}={_property(value)}" for name, value in properties.items())


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
