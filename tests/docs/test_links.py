"""Links in the Markdown files: the file is there, and so is the heading."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from urllib.parse import unquote

import nav_patterns
import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FILES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
PAGES = [one for one in FILES if one.is_relative_to(DOCS) and "examples" not in one.parts]

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def prose(path: Path) -> str:
    """A file without what its fences and its inline code hold."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path: Path) -> set[str]:
    """The ids of a page's headings, as Python-Markdown makes them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", text, flags=re.M):
        ascii_only = unicodedata.normalize("NFKD", heading.replace("`", "")).encode(
            "ascii", "ignore"
        )
        slug = re.sub(r"[^\w\s-]", "", ascii_only.decode()).strip().lower()
        slug = re.sub(r"[-\s]+", "-", slug)
        count = 1
        unique = slug
        while unique in found:
            unique, count = f"{slug}_{count}", count + 1
        found.add(unique)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_link_is_dead(path):
    """A link to a file, or to a heading of one, leads somewhere."""
    dead = []
    for link in LINK.findall(prose(path)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = unquote(link).partition("#")
        target = path.parent / name if name else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)

    assert dead == []


def navigation() -> list[str]:
    """The pages of the site's navigation, in order."""

    def below(nav: list) -> list[str]:
        found = []
        for entry in nav:
            values = entry.values() if isinstance(entry, dict) else [entry]
            for value in values:
                found += below(value) if isinstance(value, list) else [value]
        return found

    class Loader(yaml.SafeLoader):
        """Reads the Python names that mkdocs-material has in its configuration as text."""

    Loader.add_multi_constructor("tag:yaml.org,2002:python/name:", lambda *_: "a name")
    config = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)
    return below(nav_patterns.expanded(config["nav"], DOCS))


def test_every_page_is_in_the_navigation_once():
    """And every entry of the navigation is a page."""
    listed = navigation()

    assert sorted(listed) == sorted(page.relative_to(DOCS).as_posix() for page in PAGES)


def test_a_pattern_leaves_out_what_is_listed_beside_it(tmp_path):
    """An index with a place of its own is not repeated among the pages of its folder."""
    for name in ("index", "b", "a"):
        (tmp_path / f"{name}.md").touch()

    assert nav_patterns.expanded([{"X": ["index.md", "*.md"]}], tmp_path) == [
        {"X": ["index.md", {"a": "a.md"}, {"b": "b.md"}]}
    ]


def test_the_home_page_leads_to_every_page():
    """Directly, or for ops and rules by their index."""
    linked = set(LINK.findall(prose(DOCS / "index.md")))
    alone = {page for page in navigation() if page.count("/") == 0 or page.endswith("/index.md")}

    assert alone - linked == {"index.md"}
