"""How a text of the manifest is read, and what is raised where it does not have its form."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from difflib import get_close_matches


class FormError(ValueError):
    """A value of the manifest that does not have its form.

    The loader adds file, line and path; users see a ManifestError.
    """


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?``, or the names there are when none is near."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are {', '.join(names)}" if names else ""


def parse(text: object) -> ast.expr:
    """Return the Python expression that a text of the manifest is written as."""
    if not isinstance(text, str):
        raise FormError(f"expected a text, got {text!r}; put it in quotes")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise FormError(f"{text!r} cannot be read: {error}") from error
