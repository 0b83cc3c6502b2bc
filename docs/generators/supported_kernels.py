"""The page of every key: where it runs, how it ranks and which calls it serves.

``python docs/generators/supported_kernels.py`` writes ``docs/supported-kernels.md`` from the ops.
"""

from __future__ import annotations

from generated import marker, write
from tileops.cli._inventory import Subject
from tileops.cli._inventory_listing import served_markdown

__all__ = ["pages"]

_INTRODUCTION = """\
# Supported kernels

{marker}

Which calls each key of the tree serves, and where; [the glossary](glossary.md) has the words.
`tileops inventory --format md` prints these tables, with `--import` those of other packages too.
`tileops explain OP` asks about one call.

"""


def pages() -> dict[str, str]:
    """Return the page by its path below ``docs/``."""
    subject = Subject.read([], [], None)
    tables = served_markdown(subject.ops, subject.tables)
    return {"supported-kernels.md": _INTRODUCTION.format(marker=marker(__file__)) + tables}


if __name__ == "__main__":
    write(pages())
