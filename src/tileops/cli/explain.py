"""``tileops explain``: which kernel a call selects, and why."""

from __future__ import annotations

import enum
from importlib.resources import files
from typing import Annotated

import typer

from tileops.cli._facts import (
    OP_HELP,
    ROW,
    FactsCommand,
    complete_board,
    complete_interface,
    complete_op,
)
from tileops.cli._failure import ANSWERED, NO, UsageFailure
from tileops.cli._imports import require_torch
from tileops.cli._places import DeviceOptions
from tileops.cli._render import emit
from tileops.cli._values import at_least, read_arch

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


class Format(enum.StrEnum):
    """The forms of an answer."""

    TEXT = "text"
    JSON = "json"
    MD = "md"


@app.command(cls=FactsCommand)
def explain(
    ctx: typer.Context,
    op: Annotated[
        str | None,
        typer.Argument(help=OP_HELP, autocompletion=complete_op, show_default=False),
    ] = None,
    interface: Annotated[
        str | None,
        typer.Option(
            help="One kernel interface; all of the op's by default.",
            autocompletion=complete_interface,
        ),
    ] = None,
    arch: Annotated[str | None, typer.Option(help="State an architecture: 90 or sm_90.")] = None,
    gpu: Annotated[
        str | None,
        typer.Option(help="State a known board's facts: h200.", autocompletion=complete_board),
    ] = None,
    device: Annotated[str | None, typer.Option(help="Ask about a device: cpu, cuda:0.")] = None,
    sm_count: Annotated[
        int | None, typer.Option(callback=at_least(1), help="State the number of SMs.")
    ] = None,
    smem_budget: Annotated[
        int | None,
        typer.Option(
            callback=at_least(0), help="State the bytes of shared memory a block can use."
        ),
    ] = None,
    target: Annotated[str | None, typer.Option(help="The target= of the op.")] = None,
    modules: Annotated[
        list[str] | None, typer.Option("--import", help="Import a module first; may be repeated.")
    ] = None,
    why_not: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Say what would have to change for KEY to be selected."),
    ] = None,
    expect: Annotated[
        str | None, typer.Option(metavar="KEY", help="Exit 1 unless KEY is selected.")
    ] = None,
    added: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="MODULE:CLASS", help="Suppose a further implementation."),
    ] = None,
    removed: Annotated[
        list[str] | None, typer.Option("--without", metavar="KEY", help="Suppose KEY away.")
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="How to write; text by default.", show_default=False)
    ] = Format.TEXT,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema.")] = False,
) -> None:
    """Explain which kernel a call of OP selects, on which device, and why the others lose.

    Facts of the call are options: tileops explain LayerNormFwdOp --n 256 --arch 90. With an OP,
    --help lists them. Without a device option the machine's GPU is meant, and on a machine
    without one every known board.
    """
    if schema:
        emit((files("tileops.cli") / "schemas" / "explain.json").read_text("utf-8"))
        return
    if op is None:
        raise UsageFailure("explain needs an OP", remedy="tileops explain LayerNormFwdOp --n 256")
    stated = None if arch is None else read_arch(arch)
    options = DeviceOptions(stated, gpu, device, sm_count, smem_budget)
    require_torch()
    from tileops.cli._explain import Wishes, ask, check_key, render

    wishes = Wishes(why_not, tuple(added or ()), tuple(removed or ()))
    answer = ask(ctx, ctx.meta[ROW], interface, options, target, modules or [], wishes)
    check_key(answer.op, expect, answer.interfaces)
    render(answer, form.value)
    met = answer.answered if expect is None else answer.selects(expect)
    raise typer.Exit(ANSWERED if met else NO)
