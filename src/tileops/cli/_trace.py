"""The answers of ``tileops trace``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from tileops.cli._failure import LoadFailure, UsageFailure
from tileops.cli._imports import import_modules, stdout_kept_clean
from tileops.cli._render import write
from tileops.cli._table import Table, table_html, table_lines, table_markdown
from tileops.introspect.trace import (
    OpSummary,
    Recording,
    Replay,
    TraceError,
    read_recording,
    summarise,
)
from tileops.introspect.trace import replay as replay_recording

SUMMARY_SCHEMA = "tileops.trace-summary/1.0"
REPLAY_SCHEMA = "tileops.trace-replay/1.0"


def write_summary(file: Path, form: str) -> None:
    """Write the summary of a recording."""
    recording = _read(file)
    summaries = summarise(recording)
    if form == "json":
        _write_json(SUMMARY_SCHEMA, ops=[msgspec.to_builtins(one) for one in summaries])
    else:
        _write_tables([table for one in summaries for table in summary_tables(one)], form)


def write_records(file: Path, form: str) -> None:
    """Write every record of a recording."""
    recording = _read(file)
    if form == "json":
        _write_json(
            "tileops.trace-records/1.0",
            records=[
                {**msgspec.to_builtins(one.record), "calls": one.calls, "pid": one.pid}
                for one in recording.calls
            ],
        )
    else:
        _write_tables([_records_table(recording)], form)


def write_replay(file: Path, modules: list[str], form: str) -> bool:
    """Write what would change, and return whether anything would."""
    recording = _read(file)
    with stdout_kept_clean():
        import_modules([*modules, *_modules_of(recording)])
        from tileops.ops.catalogue import op_class

        answer = replay_recording(recording, op_class)
    if form == "json":
        _write_json(REPLAY_SCHEMA, **_replay_record(answer))
    else:
        _write_tables([_replay_table(answer)], form)
    return bool(answer.changes)


def _read(file: Path) -> Recording:
    try:
        recording = read_recording(file)
    except TraceError as error:
        raise UsageFailure(
            str(error), remedy="tileops trace run -o FILE -- CMD makes a recording"
        ) from error
    for name in recording.truncated:
        click.echo(f"warning: {name} was cut off; its last line is left out", err=True)
    return recording


def _modules_of(recording: Recording) -> list[str]:
    """Return the modules of the recorded ops; a script's own ops cannot be imported."""
    modules = {one.record.module for one in recording.calls}
    if "__main__" in modules:
        raise LoadFailure(
            "the recording holds ops that a script defines, which cannot be imported",
            remedy="move them to a module and record again",
        )
    return sorted(modules)


def summary_tables(summary: OpSummary) -> list[Table]:
    """Return the tables of one op: what served it, and what refused."""
    served = Table(
        f"{summary.op}: {summary.calls} calls",
        ("interface", "served by", "calls", "share", "kinds"),
        tuple(
            (
                row.interface,
                f"{row.key} (general)" if row.general else row.key,
                str(row.calls),
                f"{row.share:.1%}",
                str(row.specialisations),
            )
            for row in summary.keys
        ),
    )
    refused = Table(
        f"{summary.op}: keys that would not serve",
        ("interface", "key", "stage", "calls", "served by", "reason", "explain"),
        tuple(
            (
                row.interface,
                row.key,
                row.stage,
                str(row.calls),
                row.served_by,
                row.reason,
                row.command or "cannot be reproduced from a shell",
            )
            for row in summary.refusals
        ),
    )
    return [served, refused] if summary.refusals else [served]


def _records_table(recording: Recording) -> Table:
    rows = []
    for call in recording.calls:
        record = call.record
        facts = ", ".join(f"{name} {value}" for name, value in record.facts.items())
        outcome = f"target {record.target}" if record.target else record.selected or record.outcome
        rows.append(
            (
                str(call.pid),
                str(call.calls),
                f"{record.op}.{record.interface or ''}",
                str(outcome),
                facts,
                record.device or "",
                f"{record.seconds:.3f} s",
                record.place,
            )
        )
    names = ("pid", "calls", "request", "served by", "facts", "device", "build", "called at")
    return Table("records", names, tuple(rows))


def _replay_table(answer: Replay) -> Table:
    rows = tuple(
        (
            str(one.call.calls),
            f"{one.call.record.op}.{one.call.record.interface or ''}",
            one.before,
            one.now,
            one.problem or (one.selection.command() if one.selection else None) or "",
        )
        for one in answer.changes
    )
    title = f"{answer.decided} records decided again, {len(rows)} changed"
    if answer.skipped:
        title += f", {answer.skipped} served by targets skipped"
    return Table(title, ("calls", "request", "before", "now", "explain"), rows)


def _replay_record(answer: Replay) -> dict[str, Any]:
    return {
        "decided": answer.decided,
        "skipped": answer.skipped,
        "changes": [
            {
                "op": one.call.record.op,
                "interface": one.call.record.interface,
                "facts": one.call.record.facts,
                "device_facts": one.call.record.device_facts,
                "calls": one.call.calls,
                "before": one.before,
                "now": one.now,
                "problem": one.problem,
                "command": one.selection.command() if one.selection else None,
            }
            for one in answer.changes
        ],
    }


def _write_json(schema: str, **members: Any) -> None:
    click.echo(json.dumps({"schema": schema, **members}, indent=2))


def _write_tables(tables: Sequence[Table], form: str) -> None:
    if form == "md":
        click.echo("\n".join(table_markdown(one) for one in tables), nl=False)
    elif form == "html":
        click.echo(table_html("tileops trace", tables), nl=False)
    else:
        for one in tables:
            write(table_lines(one))
