"""The baseline: findings a project lives with for now, committed so that only new ones count.

A finding is known by its fingerprint, which survives edits elsewhere and a rename of the file.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tileops.findings import Finding, fingerprints
from tileops.lint._request import Request
from tileops.lint._settings import Settings
from tileops.lint._tree import Tree
from tileops.lint._write import Change
from tileops.lint.errors import BaselineError, BaselineScopeError

__all__ = ["Baseline", "BaselineFile"]

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


@dataclass(frozen=True, slots=True)
class BaselineFile:
    """The baseline file of a run; ``place`` is None when the run has none.

    ``shown`` is its path as the user wrote it.
    """

    place: Path | None
    shown: str = ""

    @classmethod
    def of(cls, request: Request, settings: Settings, tree: Tree, cwd: Path) -> "BaselineFile":
        """Return the file a run is asked to use, or that the project configures.

        Raises:
            BaselineScopeError: A baseline is to be written, and none is named or the run is not
                about the whole project.
        """
        stated = settings.baseline if request.baseline is None else request.baseline
        if request.update_baseline and not stated:
            raise BaselineScopeError(problem="needs a file: give --baseline FILE")
        if request.update_baseline and tree.wanted is not None:
            raise BaselineScopeError(
                problem="writes the findings of a whole project; give no PATHS"
            )
        if not stated:
            return cls(None)
        return cls((tree.root if request.baseline is None else cwd) / stated, stated)

    def read(self) -> Baseline:
        """Return what the file holds.

        Raises:
            BaselineError: There is no such file, or it is no baseline of this version.
        """
        if self.place is None:
            return Baseline()
        if self.place.is_fifo():
            # Reading would wait for a writer.
            raise _broken(self.shown, "is no regular file")
        try:
            document = json.loads(self.place.read_text("utf-8"))
        except FileNotFoundError:
            problem = "does not exist; tileops lint --update-baseline writes it"
            raise BaselineError(path=self.shown, problem=problem) from None
        except OSError as error:
            raise _broken(self.shown, f"cannot be read: {error.strerror}") from error
        except RecursionError as error:
            raise _broken(self.shown, "nests too deep") from error
        except ValueError as error:
            raise _broken(self.shown, f"is no JSON: {error}") from error
        return Baseline(frozenset(_known(document, self.shown)))

    def change(self, findings: Sequence[Finding]) -> dict[str, Change]:
        """Return the change that makes the file hold exactly these findings.

        Raises:
            BaselineError: Something else than a baseline stands there, and would be lost.
        """
        assert self.place is not None
        if self.place.exists():
            self.read()
        return {str(self.place): Change(None, _text(findings).encode("utf-8", "replace"))}


def _broken(shown: str, problem: str) -> BaselineError:
    """Return the error of a file that the linter will not replace: it may be another's."""
    remedy = "correct it, or remove it and let tileops lint --update-baseline write it anew"
    return BaselineError(path=shown, problem=f"{problem}; {remedy}")


def _text(findings: Sequence[Finding]) -> str:
    """Return the baseline of some findings, one a line, in their order."""
    entries = [
        {"rule": f.rule, "path": f.path, "message": f.message, "fingerprint": name}
        for f, name in zip(findings, fingerprints(findings), strict=True)
    ]
    lines = ",\n".join(f"    {json.dumps(entry, ensure_ascii=False)}" for entry in entries)
    held = f"[\n{lines}\n  ]" if entries else "[]"
    return f'{{\n  "schema": "{_SCHEMA}",\n  "findings": {held}\n}}\n'


def _known(document: Any, shown: str) -> Iterable[str]:
    if not isinstance(document, dict) or document.get("schema") != _SCHEMA:
        raise _broken(shown, f"does not state the schema {_SCHEMA}")
    entries = document.get("findings")
    if not isinstance(entries, list):
        raise _broken(shown, "has no list of findings")
    for entry in entries:
        name = entry.get("fingerprint") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            raise _broken(shown, f"holds an entry without fingerprint: {entry}")
        yield name
