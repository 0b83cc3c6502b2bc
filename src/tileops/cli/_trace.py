"""The answers of ``tileops trace summary`` and ``show``."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import click
import msgspec

from tileops import __version__
from tileops.call_spec import spell
from tileops.cli._failure import LoadFailure
from tileops.cli._folded_table import folded_lines
from tileops.cli._render import columns_at_hand, write
from tileops.cli._stdout import emit
from tileops.cli._table import Table, counted, table_html, table_markdown
from tileops.cli.trace import DEFAULT
from tileops.introspect.trace import (
    CallRecord,
    OpSummary,
    Recording,
    TraceError,
    read_recording,
    recorded_files,
    summarise,
)

SUMMARY_SCHEMA = "tileops.trace-summary/1.0"
RECORDS_SCHEMA = "tileops.trace-records/1.0"

NOT_REPRODUCIBLE = "cannot be reproduced from a shell"


def write_summary(file: Path, form: str) -> None:
    """Write the summary of a recording."""
    recording = read(file)
    summaries = summarise(recording)
    if form == "json":
        ops = [msgspec.to_builtins(one) for one in summaries]
        write_json(SUMMARY_SCHEMA, processes=_processes(recording), ops=ops)
    else:
        tables = [table for one in summaries for table in _summary_tables(one)]
        write_tables([*tables, _processes_table(recording)], form)


def write_records(file: Path, form: str) -> None:
    """Write every record of a recording."""
    recording = read(file)
    if form == "json":
        records = [
            {**_without_kind(one.record), "served_by": one.record.served_by, "pid": one.pid}
            for one in recording.calls
        ]
        write_json(RECORDS_SCHEMA, processes=_processes(recording), records=records)
    else:
        write_tables([_records_table(recording), _processes_table(recording)], form)


def read(file: Path) -> Recording:
    """Read a recording, telling of the files that were cut off.

    Raises:
        LoadFailure: There is none, or this version cannot read it.
    """
    try:
        recording = read_recording(file)
    except TraceError as error:
        command = shlex.join(["tileops", "trace", "run", "-o", str(_free_name(file))])
        remedy = f"{command} -- COMMAND makes one, if COMMAND calls an op"
        raise LoadFailure(str(error), remedy=remedy) from error
    for name in recording.truncated:
        click.echo(f"warning: {name} was cut off; its last line is left out", err=True)
    return recording


def _free_name(file: Path) -> Path:
    """Return the name to record under: this one, unless what is in its way would be refused."""
    # A recording is a file: what is a folder can only hold one.
    wanted = file / DEFAULT if os.path.isdir(file) else file
    if os.path.exists(wanted) and not os.path.isfile(wanted):
        wanted = Path(DEFAULT)
    name = wanted
    for number in count(2):
        if not os.path.lexists(name) and not _recorded(name):
            return name
        name = wanted.with_stem(f"{wanted.stem}-{number}")
    raise AssertionError("counting never ends")


def _recorded(name: Path) -> bool:
    try:
        return bool(recorded_files(name))
    except OSError:
        return False


def write_json(schema: str, **members: Any) -> None:
    """Write an answer for programs."""
    answer = {"schema": schema, "tileops": __version__, **members}
    emit(json.dumps(answer, indent=2, allow_nan=False) + "\n")


def write_tables(tables: Sequence[Table], form: str) -> None:
    """Write an answer for people."""
    if form == "md":
        emit("\n".join(table_markdown(one) for one in tables))
    elif form == "html":
        emit(table_html("tileops trace", tables))
    else:
        width = columns_at_hand()
        write(line for one in tables for line in folded_lines(one, width))


def request_of(record: CallRecord) -> str:
    """Name the interface that a record asked, or the op."""
    return record.op if record.interface is None else f"{record.op}.{record.interface}"


def _without_kind(record: CallRecord) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(record).items() if name != "kind"}


def _processes(recording: Recording) -> list[dict[str, Any]]:
    return [
        {"pid": one.pid, "argv": one.argv, "tileops": one.tileops, "torch": one.torch}
        for one in recording.headers
    ]


def _processes_table(recording: Recording) -> Table:
    rows = tuple(
        (str(one.pid), one.tileops, one.torch, shlex.join(one.argv)) for one in recording.headers
    )
    return Table("recorded processes", ("pid", "tileops", "torch", "command"), rows)


def _summary_tables(summary: OpSummary) -> list[Table]:
    """Return the tables of one op: what served it, and what would have."""
    calls = counted(summary.calls, "call")
    title = f"{summary.op}: {calls}, {summary.seconds:.3f} s finding kernels"
    keys = tuple(
        (
            row.interface or "",
            f"{row.served_by} (general)" if row.general else row.served_by,
            str(row.calls),
            f"{row.share:.1%}",
            str(row.kinds),
        )
        for row in summary.keys
    )
    refusals = tuple(
        (
            row.interface,
            row.key,
            str(row.calls),
            row.served_by,
            row.place,
            f"{row.stage}: {row.reason}",
            row.command or NOT_REPRODUCIBLE,
        )
        for row in summary.refusals
    )
    errors = tuple((str(row.calls), row.place, row.error) for row in summary.errors)
    missed = ("interface", "key", "calls", "served by", "first call at", "reason", "explain")
    tables = [
        Table(title, ("interface", "served by", "calls", "share", "kinds"), keys, head=2),
        Table(f"{summary.op}: keys of higher rank that did not serve", missed, refusals, head=4),
        Table(f"{summary.op}: calls that failed", ("calls", "first call at", "error"), errors),
    ]
    return [table for table in tables if table.rows]


def _records_table(recording: Recording) -> Table:
    names = ("pid", "calls", "request", "served by", "facts", "device", "build", "first call at")
    rows = tuple(
        (
            str(one.pid),
            str(one.calls),
            request_of(one.record),
            one.record.served_by,
            ", ".join(f"{name} {spell(value)}" for name, value in one.record.facts.items()),
            one.record.device or "",
            f"{one.record.seconds:.3f} s",
            "several" if one.record.collapsed else one.record.place,
        )
        for one in recording.calls
    )
    return Table(counted(len(rows), "record"), names, rows, head=4)
