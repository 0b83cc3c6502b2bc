"""Findings as JUnit XML: one test case per finding, for services that read test results."""

import html
import re

from tileops.findings._finding import Finding
from tileops.findings._report import FindingReport

__all__ = ["write_junit"]

# XML 1.0 has no way to write most control characters, not even escaped.
_UNWRITABLE = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"

# A parser turns these into blanks when they stand bare in an attribute.
_BLANKS = {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}


def write_junit(report: FindingReport) -> str:
    """Return one suite; a run without findings holds one passing case."""
    count = len(report.findings)
    tests = max(count, 1)
    cases = "".join(_case(finding) for finding in report.findings)
    if not count:
        cases = f"    <testcase classname={_attribute(report.tool)} name={_attribute('clean')}/>\n"
    counts = f'tests="{tests}" failures="{count}" errors="0"'
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f"<testsuites {counts}>\n"
        f"  <testsuite name={_attribute(report.tool)} {counts}>\n"
        f"{cases}"
        "  </testsuite>\n"
        "</testsuites>\n"
    )


def _case(finding: Finding) -> str:
    name = f"{finding.rule} {finding.path}:{finding.range}"
    failure = f"type={_attribute(str(finding.severity))} message={_attribute(finding.message)}"
    text = html.escape(re.sub(_UNWRITABLE, "?", finding.excerpt), quote=False)
    return (
        f"    <testcase classname={_attribute(finding.path)} name={_attribute(name)}>\n"
        f"      <failure {failure}>{text}</failure>\n"
        "    </testcase>\n"
    )


def _attribute(text: str) -> str:
    escaped = html.escape(re.sub(_UNWRITABLE, "?", text), quote=True)
    for blank, reference in _BLANKS.items():
        escaped = escaped.replace(blank, reference)
    return f'"{escaped}"'
