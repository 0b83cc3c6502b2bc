"""The Python of the pages follows the rules that the pages explain."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tileops.lint import Request, lint

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [one for one in sorted(DOCS.glob("*.md")) if "```python\n" in one.read_text("utf-8")]

SHOWN = {"writing-and-using-hooks.md": ["preferred-over-unknown-key"]}
"""Findings that a page has on purpose, to show them."""


def write_blocks(page: Path, folder: Path) -> None:
    """Write a page's Python below a folder: named blocks as files, the others together."""
    loose = []
    for text in re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), flags=re.S | re.M):
        named = re.match(r"# ([\w/]+\.py)\n", text)
        if named is None:
            loose.append(text)
            continue
        file = folder / named[1]
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    (folder / "the_other_blocks.py").write_text("\n".join(loose), "utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_pass_lint(page, tmp_path):
    """As files of a project, with the rules that are on by default."""
    write_blocks(page, tmp_path)

    run = lint(Request(paths=(), jobs=1, cache=False), tmp_path)

    assert [one.rule for one in run.findings] == SHOWN.get(page.name, [])


def test_a_slip_in_a_page_is_found(tmp_path):
    """A page whose kernel registers under a key of another one is told so."""
    page = tmp_path / "page.md"
    page.write_text(
        "```python\n# rows.py\nfrom tileops.backend import Kernel, register_kernel_type\n"
        "from tileops.kernels.norm.call_spec import LayerNormFwdInterface\n\n\n"
        "class Rows(Kernel, LayerNormFwdInterface):\n    devices = 'cuda'\n\n"
        "    def forward(self, x, weight, bias): ...\n\n\n"
        'register_kernel_type("LayerNormFwdOp", "rows", Rows)\n```\n',
        "utf-8",
    )
    folder = tmp_path / "project"
    folder.mkdir()
    write_blocks(page, folder)

    run = lint(Request(paths=(), jobs=1, cache=False), folder)

    assert "devices-form" in [one.rule for one in run.findings]
