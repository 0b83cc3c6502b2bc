"""Applying repairs: serially, verified, at most a few passes.

A repair is applied whole or not at all. It is withheld, with a note that says why, when its edits
overlap an earlier repair's, when the file would not parse or would change elsewhere, or when the
report would stay or another appear.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tileops.findings import Applicability, Edit
from tileops.lint._memory import Workspace
from tileops.lint._rule import Report
from tileops.lint._source import Source
from tileops.lint._verify import stray_change

__all__ = ["FixRun", "apply_fixes"]

_PASSES = 3


@dataclass(slots=True)
class FixRun:
    """The outcome of a run: the fixed workspace, what was applied, and why the rest was not."""

    workspace: Workspace
    applied: list[Report] = field(default_factory=list)
    withheld: dict[tuple[str, str, str], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Candidate:
    report: Report
    edits: tuple[Edit, ...]


def apply_fixes(workspace: Workspace, allowed: frozenset[Applicability]) -> FixRun:
    """Apply every allowed repair, pass after pass until none is left or the passes are used up.

    Later passes take up what an earlier pass deferred because it overlapped another repair.
    """
    run = FixRun(workspace)
    for _ in range(_PASSES):
        reports = run.workspace.check().standing
        candidates = _candidates(run, reports, allowed)
        if not candidates:
            break
        batch = _disjoint(candidates)
        if not _try(run, batch, reports):
            _one_by_one(run, batch, allowed)
    return run


def _one_by_one(run: FixRun, batch: list[_Candidate], allowed: frozenset[Applicability]) -> None:
    """Apply what can be applied of a batch, building each repair anew: edits move what follows."""
    for name in [name_of(candidate.report) for candidate in batch]:
        reports = run.workspace.check().standing
        left = [report for report in reports if name_of(report) == name][:1]
        for candidate in _candidates(run, left, allowed):
            _try(run, [candidate], reports)


def _candidates(
    run: FixRun, reports: Iterable[Report], allowed: frozenset[Applicability]
) -> list[_Candidate]:
    found: list[_Candidate] = []
    for report in reports:
        repair = report.repair
        if repair is None or repair.applicability not in allowed or name_of(report) in run.withheld:
            continue
        edits = tuple(sorted(set(repair.build(run.workspace))))
        if edits:
            found.append(_Candidate(report, edits))
        else:
            run.withheld[name_of(report)] = "the code at hand is not of a form the fix can rewrite"
    return found


def _disjoint(candidates: list[_Candidate]) -> list[_Candidate]:
    """Return the candidates whose edits overlap no earlier candidate's; equal edits are shared."""
    taken: set[Edit] = set()
    kept: list[_Candidate] = []
    for candidate in candidates:
        fresh = [edit for edit in candidate.edits if edit not in taken]
        if not any(_overlap(edit, other) for edit in fresh for other in taken):
            taken.update(fresh)
            kept.append(candidate)
    return kept


def _overlap(one: Edit, other: Edit) -> bool:
    if one.path != other.path:
        return False
    a, b = one.range, other.range
    start_a, end_a = (a.line, a.column), (a.end_line, a.end_column)
    start_b, end_b = (b.line, b.column), (b.end_line, b.end_column)
    return start_a == start_b or (start_a < end_b and start_b < end_a)


def _try(run: FixRun, batch: list[_Candidate], before: Iterable[Report]) -> bool:
    """Apply a batch if all of it can be verified; a batch of one that cannot is withheld."""
    reason, changed = _spliced(run.workspace, batch)
    if not reason:
        trial = run.workspace.with_files(changed)
        reason = _unresolved(batch, before, trial.check().standing)
        if not reason:
            run.workspace = trial
            run.applied += [candidate.report for candidate in batch]
            return True
    if len(batch) == 1:
        run.withheld[name_of(batch[0].report)] = reason
    return False


def _spliced(workspace: Workspace, batch: list[_Candidate]) -> tuple[str, dict[str, bytes]]:
    changed: dict[str, bytes] = {}
    edits = {edit for candidate in batch for edit in candidate.edits}
    for path in sorted({edit.path for edit in edits}):
        source = workspace[path]
        here = [edit for edit in edits if edit.path == path]
        try:
            data = source.splice(here)
        except ValueError as error:
            return str(error), {}
        reason = stray_change(source, Source(path, data), here)
        if reason:
            return reason, {}
        changed[path] = data
    return "", changed


def _unresolved(batch: list[_Candidate], before: Iterable[Report], after: Iterable[Report]) -> str:
    """Return why the batch does not resolve its reports and only them, "" when it does."""
    left = [name_of(report) for report in after]
    expected = [name_of(report) for report in before]
    for candidate in batch:
        expected.remove(name_of(candidate.report))
    for name in left:
        if name not in expected:
            rule, _, message = name
            return f"after the fix, {rule} would say: {message}"
        expected.remove(name)
    return ""


def name_of(report: Report) -> tuple[str, str, str]:
    """Return what identifies a report while lines move: its rule, path and message."""
    return (report.rule, report.path, report.message)
