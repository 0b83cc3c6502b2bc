"""One run of the linter over a tree on disk."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tileops.lint._answer import Reading
from tileops.lint._baseline import Baseline, BaselineFile
from tileops.lint._request import LintRun, Request
from tileops.lint._settings import check_rules, read_settings
from tileops.lint._tree import find_tree
from tileops.lint._write import Change, write_changes

__all__ = ["lint"]


def lint(request: Request, cwd: Path) -> LintRun:
    """Lint a project, and fix it where that is asked for.

    Fixed files and the baseline are written last, whole or not at all.

    Raises:
        LintError: The linter cannot run as asked: a path, the project's settings, a rule's name
            or the baseline is wrong, or a file cannot be read or written.
    """
    with _without_collector():
        return _lint(request, cwd)


def _lint(request: Request, cwd: Path) -> LintRun:
    check_rules((*request.select, *request.ignore), "the command line")
    tree = find_tree(request.paths, cwd)
    settings = read_settings(tree.root)
    tree = tree.without(settings.exclude)
    file = BaselineFile.of(request, settings, tree, cwd)
    baseline = Baseline() if request.update_baseline else file.read()
    reading = Reading.of(tree, settings, request.jobs, request.cache)
    catalogue = reading.catalogue()
    rules = settings.enabled(catalogue, request.select, request.ignore)
    answer = reading.answer(rules)
    findings = answer.findings
    fixable = {f.fix.applicability for f in findings if f.fix is not None}
    fixed = 0
    changes: dict[str, Change] = {}
    if fixable & request.fix:
        from tileops.lint._repairs import repair

        findings, fixed, changes = repair(reading, rules, request.fix, baseline)
    elif fixable and request.edits:
        from tileops.lint._repairs import with_edits

        findings = with_edits(reading, rules)
    new, known = baseline.split(findings)
    written = dict(changes) if request.write else {}
    if request.update_baseline:
        new, known = [], list(findings)
        written |= file.change(findings)
    write_changes(tree.root, written)
    notices = (*answer.notices, *(answer.unknown if request.show_unknown else ()))
    return LintRun(
        tree,
        tuple(catalogue[name] for name in rules),
        tuple(finding for finding in new if tree.shows(finding.path)),
        answer.suppressed,
        tuple(notice for notice in notices if tree.shows(notice.path)),
        len(known),
        fixed,
        changes,
    )


@contextmanager
def _without_collector() -> Iterator[None]:
    """Hold the garbage collector: facts, trees and modules are many and almost free of cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            # What was made meanwhile counts as old, or the next small collection would visit it.
            gc.freeze()
            gc.enable()
            gc.unfreeze()
