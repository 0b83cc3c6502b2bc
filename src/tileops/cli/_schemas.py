"""The JSON schemas that commands print."""

from __future__ import annotations

from importlib.resources import files

from tileops.cli._stdout import emit

__all__ = ["write_schema"]


def write_schema(name: str) -> None:
    """Write the schema of a command's JSON form to stdout."""
    emit((files("tileops.cli") / "schemas" / f"{name}.json").read_text("utf-8"))
