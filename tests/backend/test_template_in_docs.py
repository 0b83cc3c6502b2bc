"""The page on backends quotes the template's files as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "adding-a-hardware-backend.md").read_text()
PACKAGE = DOCS / "examples" / "tileops_acme" / "src" / "tileops_acme"


@pytest.mark.parametrize("file", sorted(PACKAGE.glob("*.py")), ids=lambda file: file.name)
def test_every_file_is_quoted(file):
    """Whoever copies from the page copies what is tested."""
    blocks = re.findall(r"```(?:python|text)\n(?:# tileops_acme/\w+\.py\n)?(.*?)```", PAGE, re.S)
    assert file.read_text() in blocks
