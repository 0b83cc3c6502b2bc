"""The type of options and arguments that name a file or a folder."""

from __future__ import annotations

import os

import click

from tileops.cli._failure import UsageFailure

__all__ = ["FileName"]


class FileName(click.Path):
    """A path that is not empty: an empty one would read as the folder at hand.

    Whether the file is there and sound is for the command to say, with exit code 3.

    Args:
        remedy: What to do instead of naming nothing.
        path_type: What the value becomes; text by default.
    """

    def __init__(self, remedy: str | None = None, path_type: type | None = None) -> None:
        super().__init__(path_type=path_type)
        self._remedy = remedy

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """Return the path.

        Raises:
            UsageFailure: It is empty, or no file can have the name.
        """
        if isinstance(param, click.Option):
            name = param.opts[0]
        else:
            name = ((param and (param.metavar or param.name)) or "a name").strip("[].").upper()
        text = os.fspath(value)
        if not text:
            raise UsageFailure(f"{name} is empty; it names a file or a folder", remedy=self._remedy)
        if "\0" in text:
            raise UsageFailure(f"{name} holds a null character, and no file has such a name")
        return super().convert(value, param, ctx)
