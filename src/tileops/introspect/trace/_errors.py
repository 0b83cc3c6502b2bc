"""What goes wrong with a recording."""

from __future__ import annotations

from tileops.errors import TileopsError


class TraceError(TileopsError, ValueError):
    """A recording cannot be read or written."""

    template = "{path}: {problem}"
