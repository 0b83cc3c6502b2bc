"""Maps of selection as text: intervals, or one character for each cell."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from typing import Any

from tileops.cli._render import Line, columns
from tileops.introspect.maps import IMPOSSIBLE, Interval, Raster, SelectionLine, Stripes, folded
from tileops.ops._possible import impossibility

__all__ = ["line_lines", "raster_lines"]

_MOST_REMAINDERS = 8


def line_lines(found: SelectionLine) -> Iterator[Line]:
    """Yield an interval a line; stretches of stripes say the remainders."""
    axis = found.axis
    how = "exact" if found.proved else "NOT PROVED: some intervals may hold other outcomes"
    yield ((f"{axis.fact} from {axis.low} to {axis.high}  ", "bold"), (how, ""))
    rows: list[Line] = []
    for one in folded(found.intervals):
        rows += [_interval(one)] if isinstance(one, Interval) else _stripes(axis.fact, one)
    yield from columns(rows)
    if not found.complete:
        yield ((f"  further changes beyond {found.intervals[-1].high}", "yellow"),)
    unselected = {
        one.outcome: one
        for one in reversed(found.intervals)
        if one.outcome == IMPOSSIBLE or one.witness.selection.selected is None
    }
    for one in reversed(unselected.values()):
        yield from _why_lines(axis.fact, one)


def _why_lines(fact: str, one: Interval) -> Iterator[Line]:
    """Yield why nothing is selected at the low end of an interval, or how to ask."""
    selection, where = one.witness.selection, f"  {one.outcome} at {fact} {one.low}"
    if one.outcome == IMPOSSIBLE:
        call: Any = selection.call
        yield ((f"{where}: ", "dim"), (impossibility(call) or "", "dim"))
    elif (command := selection.command()) is not None:
        yield ((f"{where}; ask why:", "dim"),)
        yield ((f"    {command}", "dim"),)


def _interval(one: Interval) -> Line:
    return ((f"  {one.low}", ""), (f"to {one.high}", ""), (one.outcome, ""))


def _stripes(fact: str, one: Stripes) -> list[Line]:
    # The outcome with the most remainders is said last, as what is left.
    *most, (rest, _) = sorted(one.outcomes, key=lambda item: len(item[1]))
    rows: list[Line] = []
    for outcome, remainders in most:
        shown = ", ".join(map(str, remainders[:_MOST_REMAINDERS]))
        more = ", ..." if len(remainders) > _MOST_REMAINDERS else ""
        text = f"{outcome} where {fact} % {one.period} is {shown}{more}"
        rows.append(((f"  {one.low}", ""), (f"to {one.high}", ""), (text, "")))
    rows.append(((f"  {one.low}", ""), (f"to {one.high}", ""), (f"{rest} otherwise", "")))
    return rows


def raster_lines(found: Raster) -> Iterator[Line]:
    """Yield the plane, the second fact upwards; capitals mark proved cells."""
    x, y = found.axes
    letters = _letters([one.outcome for one in found.cells])
    yield ((f"{x.fact} {x.low} to {x.high} across, {y.fact} {y.low} to {y.high} up", "bold"),)
    width = len(found.columns)
    margin = max(len(str(tick)) for tick in found.rows)
    for row in reversed(range(len(found.rows))):
        cells = found.cells[row * width : (row + 1) * width]
        text = "".join(
            letters[one.outcome].upper() if one.proved else letters[one.outcome] for one in cells
        )
        yield ((f"  {found.rows[row]:>{margin}} {text}", ""),)
    for outcome, letter in letters.items():
        yield ((f"  {letter.upper()} {letter}  {outcome}", ""),)
    share = f"{100 * found.proved_share:.1f}"
    yield ((f"  capitals: proved for every call of the cell, {share}% of the plane", "dim"),)
    across, up = found.steps
    if not all(one.proved for one in found.cells) and max(across, up) > 1:
        corner = f"its lower left corner, a multiple of {across} across and of {up} up"
        yield ((f"  small: the call at {corner}; the rest may differ", "dim"),)


def _letters(outcomes: Sequence[str]) -> dict[str, str]:
    """Give each outcome a letter: the first of its own that is free."""
    found: dict[str, str] = {}
    for outcome in dict.fromkeys(outcomes):
        own = [letter for letter in outcome.lower() if letter in string.ascii_lowercase]
        free = [one for one in (*own, *string.ascii_lowercase) if one not in found.values()]
        found[outcome] = free[0]
    return found
