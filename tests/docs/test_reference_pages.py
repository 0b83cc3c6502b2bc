"""Pages that are written by hand and state what the tree states: they agree."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "tileops"
ARCHITECTURE = (ROOT / "docs" / "architecture-and-contributing.md").read_text("utf-8")
COMPATIBILITY = (ROOT / "docs" / "compatibility.md").read_text("utf-8")
CHANGELOG = (ROOT / "docs" / "changelog.md").read_text("utf-8")


def fence(page: str, language: str, place: int = 0) -> str:
    """A fence of a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, flags=re.S | re.M)[place]


def test_the_tree_shown_is_the_tree():
    """Every child of the package, and nothing that is not there."""
    shown = re.findall(r"^  (\S+)", fence(ARCHITECTURE, "text"), flags=re.M)
    present = {
        f"{one.name}/" if one.is_dir() else one.name
        for one in SOURCES.iterdir()
        if one.name != "__pycache__"
    }

    assert set(shown) == present


def test_the_layers_drawn_are_the_contract():
    """From top to bottom, as import-linter reads them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    drawn = re.findall(r"\[\"?([^\"\]]+)\"?\]", fence(ARCHITECTURE, "mermaid"))
    edges = re.findall(r"^ +(\w+).*--> (\w+)", fence(ARCHITECTURE, "mermaid"), flags=re.M)

    named = ["ops", "backend", "kernels", "device", "errors"]
    contracted = [re.sub(r"[()]", "", layer) for layer in layers]
    assert [layer for layer in contracted if layer not in named] == drawn
    assert [one for _, one in edges if one in named] == named
    assert all(first == before for (first, _), (_, before) in zip(edges[1:], edges, strict=False))


def test_the_commands_before_a_push_are_those_of_continuous_integration():
    """Line by line, in order."""
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    _, commands = script.split('cd "$(dirname "$0")/.."\n')

    assert fence(ARCHITECTURE, "bash", 1) == commands


def test_every_json_form_has_its_version_on_the_page():
    """The forms that the sources name, with the versions they have there."""
    texts = [one.read_text("utf-8") for one in SOURCES.rglob("*.py")]
    named = {
        match
        for text in texts
        for match in re.findall(r"^\w*SCHEMA\b.* = \"(tileops\..*?)\"$", text, flags=re.M)
    }
    rows = re.findall(r"^\| `(tileops\.[\w-]+)` \| (\d\S*) \|", COMPATIBILITY, flags=re.M)
    shown = {"/".join(row) for row in rows}

    assert shown == named


def public_modules() -> list[str]:
    """The modules of the page's table, a family standing for all."""
    section = COMPATIBILITY.split("## Public names\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, flags=re.M)
    named = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    return [name.replace("<family>", "norm") for name in named]


@pytest.mark.parametrize("module", public_modules())
def test_a_module_that_is_called_public_says_what_is(module):
    """It has ``__all__``, and every name of it."""
    names = import_module(module).__all__

    assert names
    assert all(hasattr(import_module(module), name) for name in names)


def test_the_newest_entry_of_the_changelog_is_the_version():
    """The first heading names the version that would be released."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]

    assert re.search(r"^## (\S+),", CHANGELOG, flags=re.M)[1] == version


def test_the_changelog_names_every_op():
    """An op that users can import has been announced."""
    ops = [name for name in import_module("tileops").__all__ if name.endswith("Op")]

    assert [name for name in ops if f"`{name}`" not in CHANGELOG] == []


IN_TREE_ONLY = {
    "tileops.kernels.kernel",
    "tileops.kernels.norm.layer_norm",
    "tileops.kernels.norm.rms_norm",
}
"""Modules that pages import where they speak of kernels within tileops."""


def test_the_pages_import_from_public_modules_alone():
    """What a page shows, a reader may write."""
    pages = [one.read_text("utf-8") for one in (ROOT / "docs").glob("*.md")]
    blocks = [
        text
        for page in pages
        for text in re.findall(r"^```python\n(.*?)^```$", page, flags=re.S | re.M)
    ]
    imported = {
        name
        for text in blocks
        for name in re.findall(r"^ *from (tileops(?:\.\w+)*) import", text, flags=re.M)
    }
    families = {
        f"tileops.kernels.{one}.call_spec" for one in ("attention.gqa", "linear_attention", "norm")
    }

    assert imported - {*public_modules(), *families} == IN_TREE_ONLY
