"""The pages under ``docs/lint`` are what the rules say of themselves today."""

from pathlib import Path

from tileops.lint._page import pages

FOLDER = Path(__file__).parents[2] / "docs" / "lint"


def test_pages_are_current():
    """Run ``python -m tileops.lint._page docs/lint`` when this fails."""
    written = {file.name: file.read_text("utf-8") for file in FOLDER.glob("*.md")}
    assert written == pages()
