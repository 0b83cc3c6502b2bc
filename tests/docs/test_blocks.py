"""What stands in the fences of the pages: every language is run, read or shown on purpose."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in DOCS.rglob("*.md") if not {"lint", "examples"} & set(page.parts)),
]

RUN = {"python", "console"}
"""Run by the pages' own ``conftest.py``; those of the README below."""

READ = {"bash", "yaml", "toml"}
"""Read, or run, by the tests of this folder."""

SHOWN = {"text", "mermaid"}
"""Trees, forms and drawings, which no program reads."""


def blocks(page: Path, language: str | None = None) -> list[tuple[str, str]]:
    """The fences of a page, as pairs of language and content."""
    found = re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text("utf-8"), flags=re.S | re.M)
    return [one for one in found if language in (None, one[0])]


def commands(page: Path) -> list[str]:
    """The lines of a page's ``bash`` blocks."""
    return [line for _, text in blocks(page, "bash") for line in text.splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_fence_has_a_language_that_something_runs_reads_or_shows(page):
    """A fence in another language would escape the tests."""
    assert {language for language, _ in blocks(page)} <= RUN | READ | SHOWN


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_yaml_and_toml_blocks_can_be_read(page):
    """Each is a document of its own."""
    for _, text in blocks(page, "yaml"):
        assert yaml.safe_load(text)
    for _, text in blocks(page, "toml"):
        assert tomllib.loads(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shell_lines_are_run_in_continuous_integration(page):
    """A line of a ``bash`` block is one of the scripts in ``.ci``, or stands in one."""
    scripts = [one.read_text("utf-8") for one in sorted((ROOT / ".ci").iterdir())]

    for line in commands(page):
        script = re.match(r"bash (\.ci/\w+)", line)
        if script:
            assert (ROOT / script[1]).exists()
        elif line not in ELSEWHERE:
            assert any(line in text for text in scripts), line


ELSEWHERE = [
    # Run by the test of that page.
    *commands(DOCS / "selection-in-ci.md"),
    # Measured on a GPU; the harness has its own tests.
    *commands(DOCS / "benchmarks.md"),
]


def test_the_program_of_the_readme_is_python():
    """It compiles; that it runs is shown where there is a GPU."""
    ((_, program),) = blocks(ROOT / "README.md", "python")

    compile(program, "README.md", "exec")
    assert "from tileops import LayerNormFwdOp" in program


@pytest.mark.gpu
def test_the_program_of_the_readme_runs():
    """As it stands, on the CUDA device."""
    import torch

    ((_, program),) = blocks(ROOT / "README.md", "python")
    found: dict = {}
    exec(compile(program, "README.md", "exec"), found)

    expected = torch.nn.functional.layer_norm(found["x"].float(), (4096,))
    torch.testing.assert_close(found["y"].float(), expected, atol=2e-2, rtol=2e-2)


def test_the_scripts_of_continuous_integration_can_be_run():
    """They are executable, as the pages call them."""
    for script in (ROOT / ".ci").iterdir():
        assert os.access(script, os.X_OK), script
