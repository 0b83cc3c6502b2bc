"""The page of every command: usage, arguments and options, read from the commands themselves.

``python docs/generators/cli_reference.py`` writes ``docs/cli.md``; it loads no torch.
"""

from __future__ import annotations

from collections.abc import Iterator

import click
import typer

from generated import marker, write
from tileops.cli._app import PROGRAM, app, load_command

__all__ = ["commands", "pages"]

_INTRODUCTION = """\
# The commands

{marker}

`tileops` answers questions about selection, without running a kernel.
stdout carries the answer, and stderr everything else.
Where stdout is no terminal there is no colour, no box and no wrapping, and the same question has the same bytes as its answer.
The tables of `trace` keep to the width of the terminal, and to 80 columns elsewhere: what has no room in its column stands below the row.

## Exit codes

| code | meaning |
| --- | --- |
| 0 | answered |
| 1 | the answer is no: unserved, ambiguous, findings, `--expect` missed, drift |
| 2 | wrong usage: an unknown op, interface, fact, option or value, or an empty name; the nearest names are shown |
| 3 | a file or folder that is named is missing, no good or cannot be written; a module, a backend or an extra cannot be loaded |
| 4 | inconclusive, under `--strict` |
| 70 | a defect of tileops |
| 74 | the answer cannot be written to stdout |
| 130 | interrupted |
| 141 | the reader of stdout has gone |

No command shows a traceback, unless `--traceback` stands anywhere on its line.

## What each needs

`lint`, `rule`, `diff`, `doctor`, and the help, the completion and the schemas of every command need the base installation only.
The others need torch, and those that prove need z3; both come with `pip install 'tileops[ops]'`.
No command loads tilelang or needs a GPU.

## Facts

The commands that take an op have an option for every fact of its calls, such as `--n` or `--dtype`.
`tileops explain LayerNormFwdOp --help` lists them, and so does [the op's page](ops/index.md).
"""


def commands() -> Iterator[tuple[str, click.Context]]:
    """Yield every command, the root first, with its whole name and a context to ask it in."""
    root = typer.main.get_command(app)
    assert isinstance(root, click.Group)
    outer = click.Context(root, info_name=PROGRAM)
    yield PROGRAM, outer
    for name in root.list_commands(outer):
        command = load_command(name)
        context = click.Context(command, info_name=name, parent=outer)
        yield f"{PROGRAM} {name}", context
        if isinstance(command, click.Group):
            for inner, one in command.commands.items():
                yield (
                    f"{PROGRAM} {name} {inner}",
                    click.Context(one, info_name=inner, parent=context),
                )


def pages() -> dict[str, str]:
    """Return the page by its file name."""
    parts = [_INTRODUCTION.format(marker=marker(__file__))]
    parts += [_section(name, context) for name, context in commands()]
    return {"cli.md": "\n".join(parts)}


def _section(name: str, context: click.Context) -> str:
    command = context.command
    depth = "#" * max(name.count(" "), 1)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    parts = [f"#{depth} {name}", _paragraphs(command.help or ""), f"```text\n{usage}\n```"]
    arguments = [one for one in command.params if isinstance(one, click.Argument)]
    if arguments:
        parts.append(_table("argument", ((one.make_metavar(context), one) for one in arguments)))
    options = [one for one in command.params if isinstance(one, click.Option)]
    if options:
        parts.append(_table("option", ((_spelling(one, context), one) for one in options)))
    return "\n\n".join(parts) + "\n"


def _table(heading: str, rows: Iterator[tuple[str, click.Parameter]]) -> str:
    lines = [f"| {heading} | meaning |", "| --- | --- |"]
    for spelling, parameter in rows:
        meaning = " ".join(filter(None, (_meaning(parameter), _default(parameter))))
        lines.append(f"| `{_cell(spelling)}` | {_cell(meaning)} |")
    return "\n".join(lines)


def _spelling(option: click.Option, context: click.Context) -> str:
    names = ", ".join(option.opts) + "".join(f", {one}" for one in option.secondary_opts)
    if option.is_flag:
        return names
    choice = isinstance(option.type, click.Choice)
    return f"{names} {'WORD' if choice else option.make_metavar(context)}"


def _meaning(parameter: click.Parameter) -> str:
    words = getattr(parameter, "help", None) or ""
    if not isinstance(parameter.type, click.Choice):
        return words
    choices = [f"`{getattr(one, 'value', one)}`" for one in parameter.type.choices]
    return f"{words} One of {', '.join(choices)}."


def _default(parameter: click.Parameter) -> str:
    """Name the default where the help does not and there is one."""
    shown = getattr(parameter, "show_default", False)
    if not shown or parameter.default in (None, False) or callable(parameter.default):
        return ""
    value = getattr(parameter.default, "value", parameter.default)
    return f"Default: `{value}`."


def _paragraphs(text: str) -> str:
    """Return a docstring with one sentence a line, as the other pages have it."""
    blocks = [" ".join(block.split()) for block in text.split("\n\n")]
    return "\n\n".join(block.replace(". ", ".\n").replace("``", "`") for block in blocks)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    write(pages())
