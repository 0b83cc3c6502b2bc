"""Findings as GitHub Actions workflow commands, which annotate the lines of a pull request."""

from tileops.findings._finding import Finding, Notice, Range, Severity
from tileops.findings._report import FindingReport

__all__ = ["annotation", "write_github"]

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.PEDANTIC: "notice"}


def write_github(report: FindingReport) -> str:
    """Return one workflow command per finding and per notice."""
    lines = [_command(finding) for finding in report.findings]
    lines += [_remark(notice) for notice in report.notices]
    return "".join(lines)


def annotation(level: str, message: str, **properties: str) -> str:
    """Return the workflow command of one annotation, on a line of its own.

    Args:
        level: ``error``, ``warning`` or ``notice``.
        message: What it says.
        properties: Its title, and where it stands.
    """
    stated = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {stated}::{_data(message)}\n"


def _command(finding: Finding) -> str:
    stated = _place(finding.path, finding.range)
    level = _COMMANDS[finding.severity]
    return annotation(level, finding.message, **stated, title=finding.rule)


def _remark(notice: Notice) -> str:
    stated = _place(notice.path, notice.range)
    return annotation("notice", notice.message, **stated, title=notice.kind)


def _place(path: str, where: Range) -> dict[str, str]:
    return {
        "file": path,
        "line": str(where.line),
        "col": str(where.column),
        "endLine": str(where.end_line),
        "endColumn": str(where.end_column),
    }


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
