"""Watching running programs: recordings, and what is warned of."""

from __future__ import annotations

from tileops.errors._root import TileopsError


class TraceError(TileopsError, ValueError):
    """A recording cannot be read or written.

    Cause:
        The path is wrong, the file is no recording, or another version wrote it.

    Remedy:
        Pass the name that was given when it was recorded, or record again.
    """

    template = "{path}: {problem}"


class RecordedFactError(TileopsError, ValueError):
    """A recorded fact is no fact of the call spec as it is now.

    Cause:
        The call spec has changed since the recording was made.

    Remedy:
        Record again with the code at hand.
    """

    template = "{spec}.{fact} {problem}"


class WarnSettingError(TileopsError, ValueError):
    """The environment variable TILEOPS_WARN names something that is not warned of.

    Cause:
        The value is misspelt.

    Remedy:
        Set one of the names in the message, or unset the variable.
    """

    template = "TILEOPS_WARN is {value!r}; known are: {known}. Name one of them, or unset it"
