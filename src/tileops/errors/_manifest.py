"""What goes wrong with a manifest."""

from __future__ import annotations

from tileops.errors._root import TileopsError


class ManifestError(TileopsError, ValueError):
    """A file of the manifest is malformed; nothing of it is loaded.

    Cause:
        A field is misspelt, missing, stated twice or of the wrong form.

    Remedy:
        Correct the line that the message names; the form is described under signatures and the
        manifest.
    """

    template = "{file}:{line}: {path}: {problem}"

    file: str
    line: int
    path: str
    problem: str


class ExpressionError(TileopsError, ValueError):
    """An expression of the manifest has no value for a call.

    Cause:
        The expression divides by zero, or reads a value that this call does not have.

    Remedy:
        Correct the expression, or state the condition under which it holds.
    """

    template = "{text!r} cannot be evaluated with {values}: {problem}"

    text: str
    values: str
    problem: str
