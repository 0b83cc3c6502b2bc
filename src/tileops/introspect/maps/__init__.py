"""Maps of selection: exact intervals along one fact, a raster with proved cells over two."""

from tileops.introspect.maps._axis import IMPOSSIBLE, Axis
from tileops.introspect.maps._line import Interval, SelectionLine, line
from tileops.introspect.maps._raster import Cell, Raster, raster
from tileops.introspect.maps._stripes import Stripes, folded

__all__ = [
    "IMPOSSIBLE",
    "Axis",
    "Cell",
    "Interval",
    "Raster",
    "SelectionLine",
    "Stripes",
    "folded",
    "line",
    "raster",
]
