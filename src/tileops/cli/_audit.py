"""Asking and answering ``tileops audit``, once torch may be loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from tileops.cli._audit_json import SCHEMA, audit_record
from tileops.cli._audit_text import audit_lines
from tileops.cli._failure import ANSWERED, INCONCLUSIVE, NO, LoadFailure
from tileops.cli._imports import stdout_kept_clean
from tileops.cli._ops import chosen_ops, explored_interfaces
from tileops.cli._render import write
from tileops.cli._stdout import emit
from tileops.errors import InventoryError
from tileops.findings import WRITERS, FindingReport
from tileops.introspect.audit import (
    RULES,
    Audit,
    accepted_calls,
    audit_interface,
    findings_of,
    provided_calls,
)
from tileops.introspect.formula import FALSE
from tileops.introspect.inventory import (
    FamilyRecord,
    read_folder,
    shipped_folder,
)


def ask(ops: list[str], interface: str | None, modules: list[str], folder: Path | None) -> Audit:
    """Audit the ops of a command line, or all of them.

    Raises:
        UsageFailure: There is no such op or interface.
        LoadFailure: A module, an op or the inventory cannot be loaded.
    """
    with stdout_kept_clean():
        written = _inventory(folder)
        accepted, provided = accepted_calls(written), provided_calls(written)
        chosen = chosen_ops(ops, modules)
        audits = []
        for one in explored_interfaces(chosen.values(), interface):
            place = (one.table.op, one.table.interface)
            audits.append(audit_interface(one, accepted.get(place), provided.get(place, FALSE)))
        return Audit(tuple(audits))


def _inventory(folder: Path | None) -> Mapping[str, FamilyRecord]:
    if folder is None and not shipped_folder().is_dir():
        return {}
    try:
        found = read_folder(folder or shipped_folder())
    except InventoryError as error:
        raise LoadFailure("the inventory cannot be read", cause=str(error)) from error
    if folder is not None and not found:
        raise LoadFailure(
            f"there is no inventory file in {str(folder)!r}",
            remedy="tileops inventory --update --folder writes one; its help says of what",
        )
    return found


def code(audit: Audit, strict: bool) -> int:
    """Return the exit code: findings weigh more than doubts."""
    if not audit.clean:
        return NO
    return INCONCLUSIVE if strict and not audit.conclusive else ANSWERED


def render(audit: Audit, form: str) -> None:
    """Write an audit to stdout."""
    if form == "text":
        write(audit_lines(audit))
    elif form == "json":
        emit(json.dumps(audit_record(audit), indent=2) + "\n")
    else:
        emit(WRITERS[form](_report(audit)))


def _report(audit: Audit) -> FindingReport:
    findings = findings_of(audit, _checkout(Path.cwd()))
    files = len({one.path for one in findings})
    return FindingReport.of(
        SCHEMA, "tileops audit", version("tileops"), files=files, rules=RULES, findings=findings
    )


def _checkout(folder: Path) -> Path:
    """Return the repository that a folder lies in, which services count paths from, or itself."""
    around = (folder, *folder.parents)
    return next((one for one in around if (one / ".git").exists()), folder)
