"""Findings as SARIF 2.1.0, for code-scanning services."""

import json
from typing import Any
from urllib.parse import quote

from tileops.findings._finding import Finding, Notice, Range, Severity
from tileops.findings._fingerprint import fingerprints
from tileops.findings._report import FindingReport, RuleSummary

__all__ = ["write_sarif"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.PEDANTIC: "note"}


def write_sarif(report: FindingReport) -> str:
    """Return one SARIF log with one run.

    Fingerprints are over rule, symbol and normalised source text, so that a service follows a
    finding when lines above it move.
    """
    index = {rule.id: position for position, rule in enumerate(report.rules)}
    names = fingerprints(report.findings)
    driver = {
        "name": report.tool,
        "version": report.version,
        "rules": [_rule(rule) for rule in report.rules],
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(finding, name, index)
            for finding, name in zip(report.findings, names, strict=True)
        ],
    }
    if report.notices:
        told = [_notification(notice) for notice in report.notices]
        run["invocations"] = [{"executionSuccessful": True, "toolExecutionNotifications": told}]
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _rule(rule: RuleSummary) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(finding: Finding, fingerprint: str, index: dict[str, int]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [_location(finding.path, finding.range)],
        "partialFingerprints": {"tileopsFinding/v1": fingerprint},
    }
    if finding.rule in index:
        result["ruleIndex"] = index[finding.rule]
    if finding.fix is not None and finding.fix.edits:
        result["fixes"] = [_fix(finding)]
    return result


def _notification(notice: Notice) -> dict[str, Any]:
    return {
        "level": "note",
        "descriptor": {"id": notice.kind},
        "message": {"text": notice.message},
        "locations": [_location(notice.path, notice.range)],
    }


def _location(path: str, where: Range) -> dict[str, Any]:
    physical = {"artifactLocation": {"uri": quote(path)}, "region": _region(where)}
    return {"physicalLocation": physical}


def _fix(finding: Finding) -> dict[str, Any]:
    assert finding.fix is not None
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in finding.fix.edits:
        replacement = {
            "deletedRegion": _region(edit.range),
            "insertedContent": {"text": edit.text},
        }
        changes.setdefault(edit.path, []).append(replacement)
    return {
        "description": {"text": finding.fix.title},
        "artifactChanges": [
            {"artifactLocation": {"uri": quote(path)}, "replacements": replacements}
            for path, replacements in changes.items()
        ],
    }


def _region(where: Range) -> dict[str, int]:
    return {
        "startLine": where.line,
        "startColumn": where.column,
        "endLine": where.end_line,
        "endColumn": where.end_column,
    }
