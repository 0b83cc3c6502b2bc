"""The page of supported kernels is what the inventory says now."""

from __future__ import annotations

from pathlib import Path

from tileops.cli._inventory import Subject, served_markdown

PAGE = Path(__file__).parents[2] / "docs" / "supported-kernels.md"


def test_the_page_is_generated_from_the_tree() -> None:
    """The tables on the page are those that ``tileops inventory --format md`` prints."""
    printed = served_markdown(Subject.read([], [], None))

    assert PAGE.read_text(encoding="utf-8").endswith(f"\n\n{printed}")
