"""Asking and answering ``tileops map``, once torch may be loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import click

from tileops.call_spec import CallSpec
from tileops.cli._explain_text import facts_text
from tileops.cli._failure import UsageFailure
from tileops.cli._imports import load_op, stdout_kept_clean
from tileops.cli._index import OpRow
from tileops.cli._map_csv import line_csv, raster_csv
from tileops.cli._map_svg import line_svg, page, raster_svg
from tileops.cli._map_text import line_lines, raster_lines
from tileops.cli._ops import tables_of_op
from tileops.cli._places import DeviceOptions, read_places
from tileops.cli._question import chosen_interfaces, complete_facts, given_facts
from tileops.cli._render import write
from tileops.cli._stdout import emit
from tileops.cli._vary import read_axis
from tileops.introspect.detail import machine_of
from tileops.introspect.explanation import Place
from tileops.introspect.maps import Axis, Raster, SelectionLine, line, raster
from tileops.introspect.symbolic.exploration import explore
from tileops.ops._possible import impossibility
from tileops.selection import SelectionTable, fact_flag


@dataclass(frozen=True)
class SelectionMap:
    """A map, and the calls it is of.

    Attributes:
        interface: The op and its interface.
        calls: The facts that do not vary, and the place.
        found: The selection along one fact, or over two.
    """

    interface: str
    calls: str
    found: SelectionLine | Raster


def ask(
    ctx: click.Context,
    row: OpRow,
    interface: str | None,
    options: DeviceOptions,
    vary: list[str],
) -> SelectionMap:
    """Map one interface of an op over one fact or two.

    Raises:
        UsageFailure: A name or a value is wrong, or the question is not about one place.
        LoadFailure: The op cannot be loaded.
    """
    with stdout_kept_clean():
        op = load_op(row)
        tables = tables_of_op(op)
        names = chosen_interfaces(op, interface)
        if len(names) > 1:
            raise UsageFailure(
                f"{row.name} has several interfaces",
                remedy=f"--interface, one of {', '.join(names)}",
            )
        spec = op.interfaces[names[0]].calls()
        axes = [read_axis(text, spec) for text in vary]
        stated = given_facts(ctx)
        _check_axes(axes, stated)
        given = {**stated, **{axis.fact: axis.low for axis in axes}}
        facts, defaulted = complete_facts(op, names[0], given)
        facts |= _possible(spec, facts, axes)
        place = _place(options, tables[names[0]])
        call = place.call(spec, facts).resolved()
        explored = explore(tables[names[0]], spec, (machine_of(call),))
        values = explored.form.values(call)
        found = (
            line(explored, values, axes[0])
            if len(axes) == 1
            else raster(explored, values, axes[0], axes[1])
        )
    kept = {name: value for name, value in facts.items() if name not in given or name in stated}
    calls = f"{facts_text(kept, defaulted)}, on {place.name}" if kept else f"on {place.name}"
    return SelectionMap(f"{row.name}.{names[0]}", calls, found)


def _check_axes(axes: Sequence[Axis], stated: Mapping[str, Any]) -> None:
    """Reject a fact that is asked to vary twice, or to vary and to stay.

    Raises:
        UsageFailure: There is one.
    """
    names = [axis.fact for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise UsageFailure(f"{name} varies twice; two --vary name two facts")
        if name in stated:
            raise UsageFailure(f"{name} varies, and {fact_flag(name)} states it")


def _possible(
    spec: type[CallSpec], facts: Mapping[str, Any], axes: Sequence[Axis]
) -> dict[str, int]:
    """Return values of the axes that make a possible call: the lowest of those that are tried.

    The calls along an axis that no op makes are a part of the map; a map of nothing else is not
    worth drawing.

    Raises:
        UsageFailure: No value that is tried makes one.
    """
    names = [axis.fact for axis in axes]
    spans = [range(axis.low, axis.high + 1) for axis in axes]
    most = _MOST_TRIED if len(axes) == 1 else _MOST_TRIED_EACH
    tried = [dict.fromkeys([*span[:most], span[-1]]) for span in spans]
    for values in product(*tried):
        found = dict(zip(names, values, strict=True))
        if impossibility(spec(**{**facts, **found})) is None:
            return found
    asked = " and ".join(f"{axis.fact} from {axis.low} to {axis.high}" for axis in axes)
    whole = all(len(span) == len(some) for span, some in zip(spans, tried, strict=True))
    highest = {axis.fact: axis.high for axis in axes}
    low, high = impossibility(spec(**facts)), impossibility(spec(**{**facts, **highest}))
    requirements = dict.fromkeys(str(one).partition(", got ")[0] for one in (low, high))
    raise UsageFailure(
        f"no {asked} makes a possible call" if whole else f"no possible call was found for {asked}",
        cause=next(iter(requirements))
        if len(requirements) == 1
        else f"at the low end, {low}; at the high end, {high}",
    )


_MOST_TRIED: Final = 1 << 16
_MOST_TRIED_EACH: Final = 1 << 8


def _place(options: DeviceOptions, table: SelectionTable) -> Place:
    places = read_places(options)
    if len(places.places) == 1:
        return places.places[0]
    others = {device for one in table.candidates for device in one.implementation.devices}
    ways = ["--gpu h200", "--arch 90", *(f"--device {one}" for one in sorted(others - {"cuda"}))]
    raise UsageFailure(
        "a map is of one device; none was named, and this machine has no GPU",
        remedy=f"{', '.join(ways[:-1])} or {ways[-1]}",
    )


def render(answer: SelectionMap, form: str) -> None:
    """Write a map to stdout, as text below the line that says what it is of."""
    found = answer.found
    if form == "text":
        write([((f"{answer.interface}  ", "bold"), (answer.calls, ""))])
    if isinstance(found, SelectionLine):
        forms = {"csv": line_csv, "svg": line_svg}
        if form == "text":
            write(line_lines(found))
        else:
            emit(page(line_svg(found)) if form == "html" else forms[form](found))
        return
    if form == "text":
        write(raster_lines(found))
    elif form == "csv":
        emit(raster_csv(found))
    else:
        drawing = raster_svg(found)
        emit(page(drawing) if form == "html" else drawing)
