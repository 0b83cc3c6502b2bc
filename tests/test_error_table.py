"""The error tables of the guide: every error is there, under a fragment of its real message."""

import re
from pathlib import Path

import pytest

from tileops import errors

PAGE = Path(__file__).parents[1] / "docs" / "adding-a-kernel.md"

ROW = re.compile(r"\| `(\w+Error)` \| `([^`]+)` \| ([^|]+) \| ([^|]+) \|")


def documented():
    """Return the rows of the page's error tables: class, fragment, cause, remedy."""
    return [match.groups() for match in ROW.finditer(PAGE.read_text(encoding="utf-8"))]


def shown(fragment):
    """Return the expression for a fragment in which ``<name>`` stands for a field."""
    parts = re.split(r"<\w+>", fragment)
    return r"\{\w+(?:!r)?\}".join(re.escape(part) for part in parts)


@pytest.mark.parametrize(("name", "fragment"), [row[:2] for row in documented()])
def test_the_fragment_is_part_of_the_message(name, fragment):
    """What a reader searches for is what the class says."""
    assert re.search(shown(fragment), getattr(errors, name).template)


def test_every_dispatch_error_has_a_row():
    """A new error comes with its cause and remedy."""
    defined = {
        one.__name__
        for one in vars(errors).values()
        if isinstance(one, type)
        and issubclass(one, errors.DispatchError)
        and "template" in vars(one)
    }

    assert {name for name, *_ in documented()} == defined
