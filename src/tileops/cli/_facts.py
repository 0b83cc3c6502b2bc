"""Commands that take an op and its facts: the options come from the op that is named."""

from __future__ import annotations

import textwrap
from typing import Any

import click
from click.core import ParameterSource

from tileops.cli._failure import UsageFailure, unknown
from tileops.cli._imports import imported_row
from tileops.cli._index import FactRow, OpRow, in_tree_index
from tileops.cli._plain_command import PlainCommand
from tileops.cli._values import FactType
from tileops.device import BOARDS
from tileops.selection import fact_flag

FACTS = "tileops.facts"
ROW = "tileops.op"
WORDS = "tileops.words"

OP_HELP = "The class name of an op, such as LayerNormFwdOp."


class FactsCommand(PlainCommand):
    """A command whose first argument names an op and whose further options are its facts."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Add an option for every fact of the named op, then parse."""
        name = self._op_name(ctx, args)
        ctx.meta[WORDS] = tuple(args)
        if ctx.resilient_parsing:
            # Completion: only what the static index holds, and never an error.
            row = in_tree_index().get(name or "")
        else:
            row = None if name is None else find_row(name, _values_of("--import", args))
        if row is not None:
            ctx.meta[ROW] = row
            ctx.meta[FACTS] = {}
            said = _short_help if ctx.resilient_parsing else _help
            self.params = [*self.params, *(_option(one, said(one)) for one in row.facts())]
            args = _with_values(args, row)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise self._no_such_option(error, row) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Add the interfaces of the op that was named, where there are several."""
        super().format_options(ctx, formatter)
        row: OpRow | None = ctx.meta.get(ROW)
        if row is not None and len(row.interfaces) > 1:
            with formatter.section("Interfaces"):
                formatter.write_dl([(name, _about(row, name)) for name in row.interfaces])

    def _op_name(self, ctx: click.Context, args: list[str]) -> str | None:
        """Return the first argument that is no option and no option's value."""
        takes_value = {
            option: not (isinstance(one, click.Option) and one.is_flag)
            for one in self.get_params(ctx)
            for option in (*one.opts, *one.secondary_opts)
        }
        words = iter(args)
        for word in words:
            if not word.startswith("-"):
                return word
            if word == "--":
                return next(words, None)
            option, assigned, _ = word.partition("=")
            if option not in takes_value:
                # A fact before its op: whether it takes a value is known only from the op.
                return next((one for one in args if one in in_tree_index()), None)
            if takes_value[option] and not assigned:
                next(words, None)
        return None

    def _no_such_option(self, error: click.NoSuchOption, row: OpRow | None) -> UsageFailure:
        own = [option for one in self.params for option in one.opts if option.startswith("--")]
        if row is None:
            return unknown("option", error.option_name, own, "name the op before its facts")
        facts = [fact_flag(fact.name) for fact in row.facts()]
        remedy = f"{row.name} has the facts {', '.join(facts) or 'none'}"
        return unknown(
            "fact or option",
            error.option_name,
            dict.fromkeys([*facts, *own]),
            "\n".join([*_as_word(row, error.option_name), remedy]),
        )


def _about(row: OpRow, interface: str) -> str:
    """Say what an interface is, and which of the op's facts its calls have."""
    own = [fact_flag(one.name) for one in row.interfaces[interface]]
    has = "every fact above" if len(own) == len(row.facts()) else ", ".join(own) or "no facts"
    return f"{row.about.get(interface) or 'A kernel interface'}; its calls have {has}"


def _as_word(row: OpRow, option: str) -> list[str]:
    """Say how an input or a parameter is given, where an option has its name."""
    name = option.lstrip("-").removeprefix("no-").replace("-", "_")
    if name not in row.words:
        return []
    what = "a parameter" if any(name == one.name for one in row.params) else "an input"
    said = f"{name} is {what} of the op; a call that is given as tensors has it as {name}="
    several = len(row.interfaces) > 1
    return [f"{said}, and facts go to an --interface" if several else said]


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
            "op",
            name,
            in_tree_index(),
            f"known: {', '.join(in_tree_index())}; --import MODULE adds ops of other packages",
        )
    return row


def complete_op(incomplete: str) -> list[str]:
    """Return the names of in-tree ops that begin with what was typed."""
    return [name for name in in_tree_index() if name.startswith(incomplete)]


def complete_interface(ctx: click.Context, incomplete: str) -> list[str]:
    """Return the interfaces of the op named earlier on the line."""
    row = ctx.meta.get(ROW)
    return [] if row is None else [one for one in row.interfaces if one.startswith(incomplete)]


def complete_board(incomplete: str) -> list[str]:
    """Return the names of known boards."""
    return [board.name for board in BOARDS if board.name.startswith(incomplete.lower())]


def _values_of(option: str, args: list[str]) -> list[str]:
    values = [args[i + 1] for i, word in enumerate(args[:-1]) if word == option]
    return values + [w.split("=", 1)[1] for w in args if w.startswith(f"{option}=")]


def _with_values(args: list[str], row: OpRow) -> list[str]:
    """Spell the bools of a line as their options are: ``--causal true`` is understood as well.

    A fact that may be ``none`` is an option with a value, any other a pair of flags.
    """
    bools = {fact_flag(one.name): one.optional for one in row.facts() if one.kind == "bool"}
    end = args.index("--") if "--" in args else len(args)
    found: list[str] = []
    words = iter(zip(args[:end], [*args[1:end], ""], strict=True))
    for word, following in words:
        name, assigned, value = word.partition("=")
        yes = f"--{name.removeprefix('--no-')}"
        if name.startswith("--no-") and bools.get(yes) and not assigned:
            found.append(f"{yes}=false")
        elif name not in bools:
            found.append(word)
        elif assigned or following.lower() in _BOOLS:
            said = value if assigned else following
            found.append(_spelled(name, said, optional=bools[name]))
            if not assigned:
                next(words, None)
        else:
            found.append(f"{name}=true" if bools[name] else name)
    return found + args[end:]


_BOOLS = ("true", "false", "none")


def _spelled(flag: str, value: str, *, optional: bool) -> str:
    flags = {"true": flag, "false": f"--no-{flag.removeprefix('--')}"}
    return f"{flag}={value}" if optional else flags.get(value.lower(), f"{flag}={value}")


def _option(row: FactRow, said: str) -> click.Option:
    """Build the option of one fact; its value lands in the context, not in the function."""
    parameter = f"fact_{row.name}"
    flag = fact_flag(row.name)
    bare = row.kind == "bool" and not row.optional

    def keep(ctx: click.Context, _param: click.Parameter, value: Any) -> None:
        # The value alone does not tell: a fact that was given can be None.
        if ctx.get_parameter_source(parameter) is ParameterSource.COMMANDLINE:
            ctx.meta[FACTS][row.name] = value

    return click.Option(
        [f"{flag}/--no-{flag.removeprefix('--')}" if bare else flag, parameter],
        type=click.BOOL if bare else FactType(row),
        default=None,
        is_flag=bare or None,
        expose_value=False,
        callback=keep,
        help=said,
        metavar=None if bare else _metavar(row),
    )


def _help(row: FactRow) -> str:
    return _meaning(row) + (f": {row.range}" if row.range else "") + _default(row)


def _short_help(row: FactRow) -> str:
    """Return help for completion, which breaks long lines, and a shell reads lines as words."""
    tail = _default(row)
    return textwrap.shorten(_meaning(row), _COMPLETED - len(tail), placeholder="...") + tail


_COMPLETED = 70


def _meaning(row: FactRow) -> str:
    return row.meaning or f"{row.name} of the call"


def _default(row: FactRow) -> str:
    # Parentheses: completion reads square brackets as markup.
    return " (required)" if row.default is None else f" (default {row.default})"


def _metavar(row: FactRow) -> str:
    if row.kind == "bool":
        return "[true|false|none]"
    return f"[{'|'.join(row.choices)}]" if row.choices else row.kind.upper()
