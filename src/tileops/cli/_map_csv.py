"""Maps of selection as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from tileops.introspect.maps import Raster, SelectionLine

__all__ = ["line_csv", "raster_csv"]


def line_csv(found: SelectionLine) -> str:
    """Return an interval a row."""
    rows = [(one.low, one.high, one.outcome) for one in found.intervals]
    return _csv((f"{found.axis.fact}_low", f"{found.axis.fact}_high", "outcome"), rows)


def raster_csv(found: Raster) -> str:
    """Return a cell a row."""
    x, y = (axis.fact for axis in found.axes)
    names = (f"{x}_low", f"{x}_high", f"{y}_low", f"{y}_high", "outcome", "proved")
    return _csv(names, [(*one.x, *one.y, one.outcome, one.proved) for one in found.cells])


def _csv(names: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return buffer.getvalue()
