"""The page of supported kernels is what the inventory says now."""

from __future__ import annotations

from pathlib import Path

from tileops.cli._inventory import Subject, served_table
from tileops.cli._table import table_markdown

PAGE = Path(__file__).parents[2] / "docs" / "supported-kernels.md"


def test_the_page_is_generated_from_the_tree() -> None:
    """The table on the page is the one that ``tileops inventory --format md`` prints."""
    table = table_markdown(served_table(Subject.read([], [], None)))

    assert PAGE.read_text(encoding="utf-8").partition("### ")[2] == table.partition("### ")[2]
