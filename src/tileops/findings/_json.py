"""Findings as JSON with a versioned schema."""

import json
from typing import Any

from tileops.findings._finding import Finding, Fix, Notice, Range
from tileops.findings._fingerprint import fingerprints
from tileops.findings._report import FindingReport

__all__ = ["write_json"]


def write_json(report: FindingReport) -> str:
    """Return one object: schema, tool, version, files, findings and notices."""
    names = fingerprints(report.findings)
    document = {
        "schema": report.schema,
        "tool": report.tool,
        "version": report.version,
        "files": report.files,
        "findings": [
            _finding(finding, name) for finding, name in zip(report.findings, names, strict=True)
        ],
        "notices": [_notice(notice) for notice in report.notices],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _finding(finding: Finding, fingerprint: str) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": str(finding.severity),
        "path": finding.path,
        "range": _range(finding.range),
        "message": finding.message,
        "symbol": finding.symbol,
        "fingerprint": fingerprint,
        "fix": None if finding.fix is None else _fix(finding.fix),
        "notes": list(finding.notes),
    }


def _fix(fix: Fix) -> dict[str, Any]:
    edits = [{"path": e.path, "range": _range(e.range), "text": e.text} for e in fix.edits]
    return {"applicability": str(fix.applicability), "title": fix.title, "edits": edits}


def _notice(notice: Notice) -> dict[str, Any]:
    return {
        "kind": notice.kind,
        "path": notice.path,
        "range": _range(notice.range),
        "message": notice.message,
    }


def _range(where: Range) -> dict[str, dict[str, int]]:
    return {
        "start": {"line": where.line, "column": where.column},
        "end": {"line": where.end_line, "column": where.end_column},
    }
