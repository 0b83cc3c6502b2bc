"""What each fact of a call spec means, as the docstring of the class that declares it says."""

from __future__ import annotations

import inspect
import re

from tileops.call_spec import CallSpec

__all__ = ["fact_meanings"]

_SECTION = re.compile(r"^Attributes:\n((?:[ \t]+.*\n?|\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^    (\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def fact_meanings(spec: type[CallSpec]) -> dict[str, str]:
    """Return the meaning of every fact that the docstrings of *spec* and its bases describe.

    The ``Attributes`` section is where a meaning is written once: command line, pages of ops and
    readers of the code all have it from there. Only call facts are included, a subclass's words
    before those of its bases; each meaning is on one line, without the markup of code and without
    a full stop at its end.
    """
    found: dict[str, str] = {}
    for kind in reversed(spec.__mro__):
        if kind is not CallSpec and issubclass(kind, CallSpec):
            found |= _described(kind)
    return found


def _described(kind: type[CallSpec]) -> dict[str, str]:
    # inspect.getdoc would take the docstring of a base for one that is missing.
    section = _SECTION.search(inspect.cleandoc(kind.__doc__ or ""))
    if section is None:
        return {}
    entries = _ENTRY.findall(section[1])
    return {name: _on_one_line(text) for name, text in entries}


def _on_one_line(text: str) -> str:
    return " ".join(text.split()).replace("``", "").removesuffix(".")
