"""What mkdocs runs before a build: patterns in the navigation become the pages they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["expanded", "on_config"]


def on_config(config: Any) -> Any:
    """Expand the navigation of a configuration that mkdocs has read."""
    config["nav"] = expanded(config["nav"], Path(config["docs_dir"]))
    return config


def expanded(nav: list[Any], docs: Path) -> list[Any]:
    """Return a navigation in which ``folder/*.md`` is every page not listed beside it."""
    listed = {page for page in nav if isinstance(page, str)}
    return [one for entry in nav for one in _entries(entry, docs, listed)]


def _entries(entry: Any, docs: Path, listed: set[str]) -> Iterator[Any]:
    if isinstance(entry, dict):
        yield {
            title: expanded(below, docs) if isinstance(below, list) else below
            for title, below in entry.items()
        }
    elif "*" in entry:
        found = (page.relative_to(docs).as_posix() for page in sorted(docs.glob(entry)))
        yield from ({Path(page).stem: page} for page in found if page not in listed)
    else:
        yield entry
