"""The answer of ``tileops trace replay``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tileops.cli._failure import LoadFailure
from tileops.cli._imports import import_modules, stdout_kept_clean
from tileops.cli._table import Table, counted
from tileops.cli._trace import NOT_REPRODUCIBLE, read, request_of, write_json, write_tables
from tileops.introspect.trace import Change, Recording, Replay, replay
from tileops.ops.catalogue import op_class

REPLAY_SCHEMA = "tileops.trace-replay/1.0"

_SCRIPT = "__main__"


def write_replay(file: Path, modules: list[str], form: str) -> bool:
    """Write what would change, and return whether anything would.

    Raises:
        LoadFailure: A module cannot be imported, or an op is defined in a script alone.
    """
    recording = read(file)
    with stdout_kept_clean():
        import_modules(modules)
        _import_recorded(recording)
        _check_scripts(recording)
        answer = replay(recording, op_class)
    if form == "json":
        write_json(REPLAY_SCHEMA, **_answer_record(answer))
    else:
        write_tables([_changes_table(answer)], form)
    return bool(answer.changes)


def _import_recorded(recording: Recording) -> None:
    """Import what defined the recorded ops and kernels.

    Raises:
        LoadFailure: Something cannot be imported here.
    """
    asked = [one for one in recording.calls if one.record.decided is not None]
    used = {name for one in asked for name in (one.record.module, *one.record.imports)}
    for module in sorted(used - {_SCRIPT}):
        try:
            import_modules([module])
        except LoadFailure as failure:
            needing = [one for one in asked if module in (one.record.module, *one.record.imports)]
            ops = ", ".join(sorted({one.record.op for one in needing}))
            raise LoadFailure(
                f"{counted(len(needing), 'record')} of {ops} cannot be decided again: the program "
                f"that was recorded had {module}, and here it cannot be imported",
                cause=failure.cause,
                remedy="install the package it is from, or put its folder on PYTHONPATH",
            ) from failure


def _check_scripts(recording: Recording) -> None:
    """Check that every op that a script defined is also to be had from a module."""
    scripted = {one.record.op for one in recording.calls if one.record.module == _SCRIPT}
    gone = sorted(name for name in scripted if op_class(name) is None)
    if gone:
        raise LoadFailure(
            f"{', '.join(gone)}: defined in the script that was recorded, which is not run again",
            remedy="--import MODULE names a module that defines it",
        )


def _changes_table(answer: Replay) -> Table:
    title = f"{counted(answer.decided, 'record')} decided again, {len(answer.changes)} changed"
    if answer.skipped:
        title += f"; {answer.skipped} without the facts of a kernel request skipped"
    names = ("calls", "request", "before", "now", "explain")
    return Table(title, names, tuple(map(_change_row, answer.changes)), head=4)


def _change_row(change: Change) -> tuple[str, ...]:
    command = None if change.selection is None else change.selection.command()
    return (
        str(change.call.calls),
        request_of(change.call.record),
        change.before,
        change.now or "undecided",
        change.problem or command or NOT_REPRODUCIBLE,
    )


def _answer_record(answer: Replay) -> dict[str, Any]:
    return {
        "decided": answer.decided,
        "skipped": answer.skipped,
        "changes": [_change_record(one) for one in answer.changes],
    }


def _change_record(change: Change) -> dict[str, Any]:
    record = change.call.record
    return {
        "op": record.op,
        "interface": record.interface,
        "facts": record.facts,
        "device": record.device,
        "device_facts": record.device_facts,
        "calls": record.calls,
        "pid": change.call.pid,
        "before": change.before,
        "now": change.now,
        "problem": change.problem,
        "command": None if change.selection is None else change.selection.command(),
    }
