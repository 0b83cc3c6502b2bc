"""The baseline: findings a project lives with for now, committed so that only new ones count.

A finding is known by its fingerprint, which survives edits elsewhere and a rename of the file.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tileops.findings import Finding, fingerprints
from tileops.lint.errors import BaselineError

__all__ = ["Baseline", "baseline_text", "read_baseline"]

_SCHEMA = "tileops.lint-baseline/1.0"


@dataclass(frozen=True, slots=True)
class Baseline:
    """The fingerprints of the known findings."""

    known: frozenset[str] = frozenset()

    def split(self, findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
        """Return the new findings and the known ones; ``findings`` are those of the whole tree."""
        new: list[Finding] = []
        old: list[Finding] = []
        for finding, name in zip(findings, fingerprints(findings), strict=True):
            (old if name in self.known else new).append(finding)
        return new, old


def read_baseline(file: Path, shown: str) -> Baseline:
    """Return what a baseline file holds; ``shown`` is its path as the user wrote it.

    Raises:
        BaselineError: There is no such file, or it is no baseline of this version.
    """
    try:
        document = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise BaselineError(path=shown, problem="does not exist") from None
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise BaselineError(path=shown, problem=problem) from error
    except ValueError as error:
        raise BaselineError(path=shown, problem=f"is no JSON: {error}") from error
    return Baseline(frozenset(_known(document, shown)))


def baseline_text(findings: Sequence[Finding]) -> str:
    """Return the baseline that holds exactly these findings, one per line, sorted."""
    entries = [
        {"rule": f.rule, "path": f.path, "message": f.message, "fingerprint": name}
        for f, name in zip(findings, fingerprints(findings), strict=True)
    ]
    lines = ",\n".join(f"    {json.dumps(entry, ensure_ascii=False)}" for entry in entries)
    held = f"[\n{lines}\n  ]" if entries else "[]"
    return f'{{\n  "schema": "{_SCHEMA}",\n  "findings": {held}\n}}\n'


def _known(document: Any, shown: str) -> Iterable[str]:
    if not isinstance(document, dict) or document.get("schema") != _SCHEMA:
        raise BaselineError(path=shown, problem=f"does not state the schema {_SCHEMA}")
    entries = document.get("findings")
    if not isinstance(entries, list):
        raise BaselineError(path=shown, problem="has no list of findings")
    for entry in entries:
        name = entry.get("fingerprint") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            raise BaselineError(path=shown, problem=f"holds an entry without fingerprint: {entry}")
        yield name
