"""Asking and answering ``tileops boundaries``, once torch may be loaded."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any, Final

import click

from tileops.cli._boundaries_pytest import boundaries_module
from tileops.cli._failure import unknown
from tileops.cli._imports import load_op, stdout_kept_clean
from tileops.cli._index import OpRow
from tileops.cli._ops import explored_interfaces
from tileops.cli._render import write
from tileops.cli._stdout import emit
from tileops.cli._table import Table, counted, table_lines, table_markdown
from tileops.introspect.boundaries import Boundaries, Boundary, boundaries, outcome_name
from tileops.introspect.formula import DEVICE_FACTS, any_of, exact, spell
from tileops.introspect.symbolic.exploration import Explored

SCHEMA: Final = "tileops.boundaries/1.0"

Found = tuple[tuple[Explored, Boundaries], ...]


def ask(row: OpRow, interface: str | None, gpu: str | None) -> Found:
    """Find the boundaries of an op's interfaces, on one board or on all.

    Raises:
        UsageFailure: The op has no such interface, or there is no such board.
        LoadFailure: The op cannot be loaded.
    """
    with stdout_kept_clean():
        op = load_op(row)
        return tuple((one, _on(one, gpu)) for one in explored_interfaces([op], interface))


def _on(explored: Explored, gpu: str | None) -> Boundaries:
    if gpu is None:
        return boundaries(explored)
    machines = {one.board: one for one in explored.model.domain.machines if one.board}
    if gpu.lower() not in machines:
        raise unknown("board", gpu, machines)
    return boundaries(explored, any_of([machines[gpu.lower()].condition()]))


def render(found: Found, form: str, modules: list[str]) -> None:
    """Write boundaries to stdout; a test imports *modules* first, as the question did."""
    if form == "json":
        emit(json.dumps(_record(found), indent=2) + "\n")
    elif form == "pytest":
        for explored, one in found:
            if not one.found:
                where = f"{explored.table.op}.{explored.table.interface}"
                click.echo(f"note: {where} has no boundaries, so its test has no case", err=True)
        emit(boundaries_module(found, modules))
    else:
        for explored, one in found:
            table = _table(explored, one)
            if form == "md":
                emit(table_markdown(table))
            else:
                write(table_lines(table))


_COLUMNS = ("fact", "before", "selects", "after", "selects", "with")


def _table(explored: Explored, found: Boundaries) -> Table:
    note = f", {found.undecided} not decided" if found.undecided else ""
    number = counted(len(found.found), "boundary", "boundaries")
    title = f"{explored.table.op}.{explored.table.interface}: {number}{note}"
    return Table(title, _COLUMNS, tuple(_row(explored, one) for one in found.found))


def _row(explored: Explored, one: Boundary) -> tuple[str, ...]:
    before, after = one.before.values, one.after.values
    place = explored.model.domain.board_of(before) or str(before["device_type"])
    others = [
        f"{name} {spell(value)}"
        for name, value in before.items()
        if name != one.fact and name not in DEVICE_FACTS and _is_told(explored, name, value)
    ]
    return (
        one.fact,
        spell(before[one.fact]),
        outcome_name(one.before.selection),
        spell(after[one.fact]),
        outcome_name(one.after.selection),
        ", ".join([place, *others]),
    )


def _is_told(explored: Explored, name: str, value: Any) -> bool:
    """Whether a fact must be said for a reader to make the call: it has no default, or another."""
    one = explored.model.domain.fact(name)
    return one is not None and not one.hidden and (one.required or value != one.default)


def _record(found: Found) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "tileops": version("tileops"),
        "interfaces": [
            {
                "op": explored.table.op,
                "interface": explored.table.interface,
                "undecided": one.undecided,
                "boundaries": [
                    {
                        "fact": pair.fact,
                        **{
                            side: {
                                "outcome": outcome_name(witness.selection),
                                "facts": {n: exact(v) for n, v in witness.values.items()},
                                "command": witness.selection.command(),
                            }
                            for side, witness in (("before", pair.before), ("after", pair.after))
                        },
                    }
                    for pair in one.found
                ],
            }
            for explored, one in found
        ],
    }
