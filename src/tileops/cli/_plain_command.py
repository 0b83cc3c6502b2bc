"""Commands whose help is whole: typer loses and doubles parts of it with recent click releases."""

from __future__ import annotations

import inspect
from typing import Any

import click
import typer
from typer.core import TyperCommand
from typer.models import ArgumentInfo
from typer.utils import get_params_from_function

__all__ = ["PlainCommand", "use_plain_commands"]


class PlainCommand(TyperCommand):
    """A command whose help has the help of every argument, once, and its brackets as they are."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # click's arguments have a help of their own, whose default replaces the one stated.
        stated = get_params_from_function(inspect.unwrap(self.callback)) if self.callback else {}
        for one in self.params:
            meta = stated.get(one.name or "")
            if isinstance(one, click.Argument) and meta and isinstance(meta.default, ArgumentInfo):
                one.help = meta.default.help

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: typer writes the arguments together with the options."""

    def get_help(self, ctx: click.Context) -> str:
        """Return the help without the escapes that typer adds for rich."""
        return super().get_help(ctx).replace("\\[", "[")


def use_plain_commands(app: typer.Typer) -> None:
    """Make the commands of *app* plain ones, but for those with a class of their own."""
    for registered in app.registered_commands:
        if registered.cls is TyperCommand:
            registered.cls = PlainCommand
