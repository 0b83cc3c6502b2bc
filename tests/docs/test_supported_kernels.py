"""The page of supported kernels is what the inventory says now."""

from __future__ import annotations

from pathlib import Path

from tileops.cli._inventory import Subject
from tileops.cli._inventory_listing import served_markdown

PAGE = Path(__file__).parents[2] / "docs" / "supported-kernels.md"


def test_the_page_is_generated_from_the_tree() -> None:
    """The tables on the page are those that ``tileops inventory --format md`` prints."""
    subject = Subject.read([], [], None)
    printed = served_markdown(subject.ops, subject.tables)

    assert PAGE.read_text(encoding="utf-8").endswith(f"\n\n{printed}")
