"""The page on backends quotes the template's files as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "adding-a-hardware-backend.md").read_text()
PROJECT = DOCS / "examples" / "tileops_acme"
FILES = [PROJECT / "pyproject.toml", *sorted((PROJECT / "src" / "tileops_acme").glob("*.py"))]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_file_is_quoted(file):
    """Whoever copies from the page copies what is tested."""
    fence = r"```(?:python|text|toml)\n(?:# tileops_acme/\w+\.py\n)?(.*?)```"
    blocks = re.findall(fence, PAGE, re.S)
    assert file.read_text() in blocks
