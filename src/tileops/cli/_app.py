"""The root command: it knows every subcommand's summary, and imports none until it runs."""

import os
import sys
from importlib import import_module
from importlib.metadata import version as distribution_version
from typing import Annotated, Any

import click
import typer
from typer.core import TyperGroup

from tileops.cli._failure import unknown
from tileops.errors import TileopsError

COMMANDS: dict[str, str] = {
    "explain": "Explain which kernel a call selects, and why the others lose.",
    "trace": "Record what a program selects; summarise, show and replay recordings.",
    "doctor": "Report versions, devices, backends, targets and caches.",
}
"""Each subcommand's one-line summary, in the order help lists them.

The command ``name`` is the function ``name`` of the module ``tileops.cli.name``.
"""


class LazyGroup(TyperGroup):
    """A group whose help needs only `COMMANDS`; resolving one command imports only its module."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a stand-in that carries the summary; `resolve_command` loads the real one."""
        if cmd_name not in COMMANDS:
            return None
        return click.Command(cmd_name, help=COMMANDS[cmd_name], short_help=COMMANDS[cmd_name])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command the arguments name, its module imported now."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise unknown("command", args[0], COMMANDS, "tileops --help lists the commands")
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and command is not None:
            command = load_command(name)
        return name, command, rest


def load_command(name: str) -> click.Command:
    """Import the module of a subcommand and build its click command."""
    module: Any = import_module(f"tileops.cli.{name}")
    command = typer.main.get_command(module.app)
    command.name = name
    return command


app = typer.Typer(
    cls=LazyGroup,
    name="tileops",
    help="Explain, compare, prove and lint which kernel an operator call selects.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich" if sys.stdout.isatty() else None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"tileops {distribution_version('tileops')}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Explain, compare, prove and lint which kernel an operator call selects."""


def main() -> None:
    """Run the command line and exit with its code.

    0: answered; 1: the answer is no; 2: wrong usage; 3: something could not be loaded;
    4: inconclusive under ``--strict``. A traceback appears only with ``--traceback``.
    """
    arguments = sys.argv[1:]
    show_traceback = "--traceback" in arguments
    if show_traceback:
        arguments.remove("--traceback")
    try:
        sys.exit(app(arguments))
    except BrokenPipeError:
        # The reader has gone; point stdout elsewhere so that the interpreter's own flush at exit
        # does not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        if show_traceback:
            raise
        code = 3 if isinstance(error, (TileopsError, ImportError)) else 70
        typer.echo(f"error: {error or type(error).__name__}", err=True)
        typer.echo("help: --traceback shows where it was raised", err=True)
        sys.exit(code)
