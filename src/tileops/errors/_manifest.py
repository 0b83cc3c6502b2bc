"""What goes wrong with a manifest."""

from __future__ import annotations

from tileops.errors._root import TileopsError


class ManifestError(TileopsError, ValueError):
    """A file of the manifest is malformed; nothing of it is loaded."""

    template = "{file}:{line}: {path}: {problem}"

    file: str
    line: int
    path: str
    problem: str


class ExpressionError(TileopsError, ValueError):
    """An expression of the manifest has no value for a call."""

    template = "{text!r} cannot be evaluated with {values}: {problem}"

    text: str
    values: str
    problem: str
