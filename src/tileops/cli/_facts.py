"""Commands that take an op and its facts: the options come from the op that is named."""

from __future__ import annotations

import sys
from typing import Any

import click
from typer.core import TyperCommand

from tileops.cli._failure import UsageFailure, unknown
from tileops.cli._imports import imported_row
from tileops.cli._index import FactRow, OpRow, in_tree_index
from tileops.cli._values import FactType

FACTS = "tileops.facts"
ROW = "tileops.op"


class FactsCommand(TyperCommand):
    """A command whose first argument names an op and whose further options are its facts."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Add an option for every fact of the named op, then parse."""
        name = self._op_name(args)
        row = None if name is None else find_row(name, _values_of("--import", args))
        if row is not None:
            ctx.meta[ROW] = row
            ctx.meta[FACTS] = {}
            own = {option for one in self.params for option in one.opts}
            self.params = [*self.params, *(_option(fact, own) for fact in row.facts())]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise self._no_such_option(error, row) from None

    def _op_name(self, args: list[str]) -> str | None:
        """Return the first argument that is no option and no option's value."""
        flags = {
            option: isinstance(one, click.Option) and one.is_flag
            for one in self.get_params(click.Context(self))
            for option in (*one.opts, *one.secondary_opts)
        }
        words = iter(args)
        for word in words:
            if not word.startswith("-"):
                return word
            takes_value = not flags.get(word, word.startswith("--no-"))
            if takes_value and "=" not in word and word in flags:
                next(words, None)
            elif word not in flags:
                return next((w for w in args if w in in_tree_index()), None)
        return None

    @staticmethod
    def _no_such_option(error: click.NoSuchOption, row: OpRow | None) -> UsageFailure:
        if row is None:
            return UsageFailure(f"no option {error.option_name}; name the op first")
        known = [f"--{fact.name.replace('_', '-')}" for fact in row.facts()]
        return unknown(
            "fact", error.option_name, known, f"{row.name} has the facts {', '.join(known)}"
        )


def find_row(name: str, modules: list[str]) -> OpRow:
    """Return the row of an op, from the index or from the modules named by ``--import``.

    Raises:
        UsageFailure: There is no such op.
        LoadFailure: A module cannot be imported.
    """
    if modules:
        row = imported_row(name, modules)
        if row is not None:
            return row
    row = in_tree_index().get(name)
    if row is None:
        raise unknown(
            "op", name, in_tree_index(), "--import MODULE adds ops defined in other packages"
        )
    return row


def complete_op(incomplete: str) -> list[str]:
    """Return the names of in-tree ops that begin with what was typed."""
    return [name for name in in_tree_index() if name.startswith(incomplete)]


def _values_of(option: str, args: list[str]) -> list[str]:
    values = [args[i + 1] for i, word in enumerate(args[:-1]) if word == option]
    return values + [w.split("=", 1)[1] for w in args if w.startswith(f"{option}=")]


def _option(row: FactRow, taken: set[str]) -> click.Option:
    """Build the option of one fact; its value lands in the context, not in the function."""
    flag = row.name.replace("_", "-")
    if f"--{flag}" in taken:
        flag = f"fact-{flag}"

    def keep(ctx: click.Context, _param: click.Parameter, value: Any) -> None:
        if value is not _UNSET and value is not None:
            ctx.meta[FACTS][row.name] = value

    words = ["required" if row.default is None else f"default: {row.default}"]
    if row.range:
        words.insert(0, row.range)
    if row.choices:
        words.insert(0, "|".join(row.choices))
    text = f"{row.name} of the call [{'; '.join(words)}]"
    declaration = f"--{flag}/--no-{flag}" if row.kind == "bool" else f"--{flag}"
    return click.Option(
        [declaration, f"fact_{row.name}"],
        type=click.BOOL if row.kind == "bool" else FactType(row),
        default=None,
        is_flag=row.kind == "bool" or None,
        expose_value=False,
        callback=keep,
        help=text,
        metavar=None if row.kind == "bool" else row.kind.upper(),
    )


_UNSET = getattr(sys.modules.get("click.core"), "UNSET", object())
