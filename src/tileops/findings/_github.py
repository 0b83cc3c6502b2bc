"""Findings as GitHub Actions workflow commands, which annotate the lines of a pull request."""

from tileops.findings._finding import Finding, Severity
from tileops.findings._report import FindingReport

__all__ = ["write_github"]

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.PEDANTIC: "notice"}


def write_github(report: FindingReport) -> str:
    """Return one workflow command per finding."""
    return "".join(f"{_command(finding)}\n" for finding in report.findings)


def _command(finding: Finding) -> str:
    where = finding.range
    properties = {
        "file": finding.path,
        "line": str(where.line),
        "col": str(where.column),
        "endLine": str(where.end_line),
        "endColumn": str(where.end_column),
        "title": finding.rule,
    }
    stated = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {stated}::{_data(finding.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
