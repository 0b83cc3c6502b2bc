"""Applying repairs: serially, verified, at most a few passes.

A repair is applied whole or not at all. It is withheld, with a note that says why, when its edits
overlap an earlier repair's, when the file would not parse or would change elsewhere, or when the
report would stay or another appear.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from tileops.findings import Applicability, Edit
from tileops.lint._memory import Workspace
from tileops.lint._rule import Repair, Report
from tileops.lint._source import Source
from tileops.lint._verify import stray_change

__all__ = ["FixRun", "Name", "apply_fixes", "edits_of", "name_of"]

_PASSES = 3


Name = tuple[str, str, str, str]
"""What identifies a report while lines move: its rule, path, symbol and message."""


@dataclass(slots=True)
class FixRun:
    """The outcome of a run: the fixed workspace, what was applied, and why the rest was not."""

    workspace: Workspace
    applied: list[Report] = field(default_factory=list)
    withheld: dict[Name, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Candidate:
    report: Report
    edits: tuple[Edit, ...]


def apply_fixes(
    workspace: Workspace,
    allowed: frozenset[Applicability],
    wanted: Callable[[Report], bool] = lambda _: True,
) -> FixRun:
    """Apply every allowed repair of a wanted report, pass after pass, at most three times.

    Later passes take up what an earlier pass deferred because it overlapped another repair.
    """
    run = FixRun(workspace)
    for _ in range(_PASSES):
        names = _open(run, allowed, wanted)
        if not names:
            return run
        _apply(run, names)
    for name in _open(run, allowed, wanted):
        run.withheld[name] = f"other fixes touch the same code; {_PASSES} passes did not settle it"
    return run


def name_of(report: Report) -> Name:
    """Return what identifies a report while lines move."""
    return (report.rule, report.path, report.symbol, report.message)


def edits_of(repair: Repair, workspace: Workspace) -> tuple[Edit, ...]:
    """Return the edits of a repair, none where the code is not of a form it can rewrite."""
    from libcst import ParserSyntaxError

    try:
        return tuple(sorted(set(repair.build(workspace))))
    except (ParserSyntaxError, RecursionError):
        # libcst refuses a few forms that Python takes, and very deep ones.
        return ()


def _open(
    run: FixRun, allowed: frozenset[Applicability], wanted: Callable[[Report], bool]
) -> list[Name]:
    """Return the names of the reports that a repair may still resolve."""
    return [
        name_of(report)
        for report in run.workspace.check().standing
        if report.repair is not None
        and report.repair.applicability in allowed
        and name_of(report) not in run.withheld
        and wanted(report)
    ]


def _apply(run: FixRun, names: list[Name]) -> None:
    """Apply the repairs of some reports at once, or of each half when they cannot be verified.

    Edits move what follows them, so every repair is built anew for the workspace of the moment.
    """
    reports = run.workspace.check().standing
    batch = _disjoint(_candidates(run, reports, names))
    if batch and not _try(run, batch, reports) and len(batch) > 1:
        left = [name_of(candidate.report) for candidate in batch]
        _apply(run, left[: len(left) // 2])
        _apply(run, left[len(left) // 2 :])


def _candidates(
    run: FixRun, reports: Iterable[Report], names: Iterable[Name]
) -> Iterator[_Candidate]:
    """Yield a candidate for each named report, as often as its name occurs."""
    left = Counter(names)
    for report in reports:
        name = name_of(report)
        if report.repair is None or not left[name] or name in run.withheld:
            continue
        left[name] -= 1
        edits = edits_of(report.repair, run.workspace)
        if edits:
            yield _Candidate(report, edits)
        else:
            run.withheld[name] = "the code at hand is not of a form the fix can rewrite"


def _disjoint(candidates: Iterable[_Candidate]) -> list[_Candidate]:
    """Return the candidates whose edits overlap no earlier candidate's; equal edits are shared."""
    taken: dict[str, set[Edit]] = defaultdict(set)
    kept: list[_Candidate] = []
    for candidate in candidates:
        fresh = [edit for edit in candidate.edits if edit not in taken[edit.path]]
        if not any(_overlap(edit, other) for edit in fresh for other in taken[edit.path]):
            for edit in fresh:
                taken[edit.path].add(edit)
            kept.append(candidate)
    return kept


def _overlap(one: Edit, other: Edit) -> bool:
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
            return f"after the fix, {name[0]} would say: {name[3]}"
        expected.remove(name)
    return ""
