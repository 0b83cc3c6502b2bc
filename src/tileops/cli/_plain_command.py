"""Commands whose help is whole: typer loses and doubles parts of it with recent click releases."""

from __future__ import annotations

import inspect
from typing import Any

import click
import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import ArgumentInfo
from typer.utils import get_params_from_function

from tileops.cli._failure import UsageFailure, shortened
from tileops.cli._stdout import emit

__all__ = ["PlainCommand", "PlainGroup", "use_plain_commands"]


class _PlainHelp(click.Command):
    """What writes its help as every other answer is written."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return the option, its help written to stdout or the failure told."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _show_help
        return option


def _show_help(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        emit(ctx.get_help() + "\n")
        ctx.exit()


class PlainGroup(_PlainHelp, TyperGroup):
    """A group of plain commands, whose summaries are whole however long."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first sentence of every command's help, over several lines if need be."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        shown = [(name, one) for name, one in found if one is not None and not one.hidden]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(_WHOLE)) for name, one in shown])


_WHOLE = 1000
"""Characters that no summary has: click cuts it there."""


class PlainCommand(_PlainHelp, TyperCommand):
    """A command whose help has the help of every argument, once, and its brackets as they are."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # click's arguments have a help of their own, whose default replaces the one stated.
        stated = get_params_from_function(inspect.unwrap(self.callback)) if self.callback else {}
        for one in self.params:
            meta = stated.get(one.name or "")
            if isinstance(one, click.Argument) and meta and isinstance(meta.default, ArgumentInfo):
                one.help = meta.default.help

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reject an option that takes one value and is given several, then parse."""
        if not ctx.resilient_parsing:
            self._check_repeated(ctx, args)
        return super().parse_args(ctx, args)

    def _check_repeated(self, ctx: click.Context, args: list[str]) -> None:
        try:
            _, _, given = self.make_parser(ctx).parse_args(list(args))
        except click.UsageError:
            return
        for one in dict.fromkeys(given):
            single = isinstance(one, click.Option) and not (one.multiple or one.is_flag)
            if single and given.count(one) > 1:
                values = " and ".join(shortened(value) for value in _values(one, args))
                raise UsageFailure(f"{one.opts[0]} takes one value, and is given {values}")

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: typer writes the arguments together with the options."""

    def get_help(self, ctx: click.Context) -> str:
        """Return the help without the escapes that typer adds for rich."""
        return super().get_help(ctx).replace("\\[", "[")


def _values(option: click.Parameter, args: list[str]) -> list[str]:
    """Return the values of an option on a command line."""
    found = []
    for word, following in zip(args, [*args[1:], ""], strict=True):
        name, assigned, value = word.partition("=")
        if name in option.opts:
            found.append(value if assigned else following)
    return found


def use_plain_commands(app: typer.Typer) -> None:
    """Make the commands of *app* plain ones, but for those with a class of their own."""
    for registered in app.registered_commands:
        if registered.cls is TyperCommand:
            registered.cls = PlainCommand
