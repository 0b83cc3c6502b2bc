"""The root command: it knows every subcommand's summary, and imports none until it runs."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, NoReturn

import click
import typer

from tileops.cli._failure import ANSWERED, LoadFailure, OutputFailure, report, unknown
from tileops.cli._plain_command import PlainGroup, use_plain_commands
from tileops.cli._stdout import emit

PROGRAM = "tileops"

VERSIONED = (PROGRAM, "torch", "tilelang", "z3-solver")
"""The distributions that ``--version`` names."""

COMMANDS: dict[str, str] = {
    "explain": "Explain which kernel a call selects, and why the others lose.",
    "audit": "Prove that every possible call selects one kernel, or show what is to mend.",
    "map": "Map which key is selected along one fact or over two.",
    "graph": "Show which keys outrank which, and which serve the same calls.",
    "boundaries": "List adjacent calls that select different keys, also as a test.",
    "inventory": "List every op, interface and key; write them down, and check what is written.",
    "diff": "Compare two inventories: which calls changed hands.",
    "trace": "Record what a program selects; summarise, show and replay recordings.",
    "lint": "Check kernel interfaces, implementations, ops and backends.",
    "rule": "List the lint rules, or print the page of one.",
    "doctor": "Report versions, devices, backends, targets and caches.",
}
"""Each subcommand's one-line summary, in the order help lists them.

The command ``name`` is the function ``name`` of the module ``tileops.cli.name``.
"""


class LazyGroup(PlainGroup):
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
        known = not args or args[0].startswith("-") or args[0] in COMMANDS
        # Completion asks about half-written lines, where an error would land on the prompt.
        if not ctx.resilient_parsing:
            if not known:
                raise unknown("command", args[0], COMMANDS, f"commands: {', '.join(COMMANDS)}")
            _check_working_directory()
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and command is not None:
            command = load_command(name)
        return name, command, rest


def _check_working_directory() -> None:
    """Reject a working directory that was removed: torch ends the process in one.

    Raises:
        LoadFailure: It was.
    """
    try:
        os.getcwd()
    except OSError as error:
        raise LoadFailure(
            f"the working directory cannot be read: {error.strerror}",
            remedy="change to a folder that exists",
        ) from None


def load_command(name: str) -> click.Command:
    """Import the module of a subcommand and build its click command."""
    module: Any = import_module(f"tileops.cli.{name}")
    use_plain_commands(module.app)
    command = typer.main.get_command(module.app)
    command.name = name
    return command


app = typer.Typer(
    cls=LazyGroup,
    name=PROGRAM,
    help="Explain, compare, prove and lint which kernel an operator call selects.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich" if sys.stdout is not None and sys.stdout.isatty() else None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(value: bool) -> None:
    if not value:
        return
    from importlib.metadata import PackageNotFoundError, version

    lines = []
    for name in VERSIONED:
        try:
            lines.append(f"{name} {version(name)}\n")
        except PackageNotFoundError:
            lines.append(f"{name} not installed\n")
    emit("".join(lines))
    raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the versions of tileops and of what its ops need.",
        ),
    ] = False,
    _traceback: Annotated[
        bool,
        typer.Option("--traceback", help="Show where an error was raised; taken by every command."),
    ] = False,
) -> None:
    """Explain, compare, prove and lint which kernel an operator call selects."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code.

    0: answered; 1: the answer is no; 2: wrong usage; 3: something could not be loaded;
    4: inconclusive under ``--strict``; 74: stdout cannot be written. A traceback appears only with
    ``--traceback``.

    Args:
        arguments: The words after the program's name; those of the process by default.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    # Behind "--" stand the words of another program.
    end = words.index("--") if "--" in words else len(words)
    show_traceback = "--traceback" in words[:end]
    words = [word for word in words[:end] if word != "--traceback"] + words[end:]
    command = typer.main.get_command(app)
    try:
        if sys.stdout is None:
            raise OutputFailure("the answer cannot be written: stdout is closed")
        code = command.main(words, prog_name=PROGRAM, standalone_mode=False)
    except SystemExit:
        raise
    except BaseException as error:
        # Code of others may raise what no one expects; click has made an interrupt an Abort.
        code = report(error, show_traceback)
    sys.exit(code or ANSWERED)
