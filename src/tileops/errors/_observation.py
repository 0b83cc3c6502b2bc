"""Watching running programs: recordings, and what is warned of."""

from __future__ import annotations

from tileops.errors._root import TileopsError


class TraceError(TileopsError, ValueError):
    """A recording cannot be read or written."""

    template = "{path}: {problem}"


class RecordedFactError(TileopsError, ValueError):
    """A recorded fact is no fact of the call spec as it is now."""

    template = "{spec}.{fact} {problem}"


class WarnSettingError(TileopsError, ValueError):
    """The environment variable TILEOPS_WARN names something that is not warned of."""

    template = "TILEOPS_WARN is {value!r}; known are: {known}. Name one of them, or unset it"
