"""``tileops explain``: which kernel a call selects, and why."""

from __future__ import annotations

import enum
from typing import Annotated

import click
import typer

from tileops.cli._call_command import (
    CALL_HELP,
    CallCommand,
    complete_word,
    complete_workload,
    read_tensors,
)
from tileops.cli._device_options import Arch, Device, Gpu, SmCount, SmemBudget, device_options
from tileops.cli._facts import FACTS, OP_HELP, ROW, complete_interface, complete_op
from tileops.cli._failure import ANSWERED, NO, UsageFailure
from tileops.cli._imports import require_torch
from tileops.cli._schemas import write_schema

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


class Format(enum.StrEnum):
    """The forms of an answer."""

    TEXT = "text"
    JSON = "json"
    MD = "md"


OpName = Annotated[
    str | None, typer.Argument(help=OP_HELP, autocompletion=complete_op, show_default=False)
]
Call = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME=VALUE]...", help=CALL_HELP, autocompletion=complete_word, show_default=False
    ),
]
Workload = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Give the call as a workload of the manifest.",
        autocompletion=complete_workload,
    ),
]
Interface = Annotated[
    str | None,
    typer.Option(
        help="One kernel interface; all of the op's by default.",
        autocompletion=complete_interface,
    ),
]
Target = Annotated[str | None, typer.Option(help="The target= of the op.")]
Modules = Annotated[
    list[str] | None, typer.Option("--import", help="Import a module first; may be repeated.")
]
WhyNot = Annotated[
    str | None,
    typer.Option(metavar="KEY", help="Say what would have to change for KEY to be selected."),
]
Expect = Annotated[str | None, typer.Option(metavar="KEY", help="Exit 1 unless KEY is selected.")]
Added = Annotated[
    list[str] | None,
    typer.Option("--with", metavar="MODULE:CLASS", help="Suppose a further implementation."),
]
Removed = Annotated[
    list[str] | None, typer.Option("--without", metavar="KEY", help="Suppose KEY away.")
]
Whole = Annotated[
    bool,
    typer.Option(
        "--all", help="Show every condition, class and precedence in the text, not the essential."
    ),
]
Form = Annotated[
    Format, typer.Option("--format", help="How to write; text by default.", show_default=False)
]
Schema = Annotated[bool, typer.Option("--schema", help="Print the JSON schema.")]


@app.command(cls=CallCommand)
def explain(
    ctx: typer.Context,
    op: OpName = None,
    call: Call = None,
    workload: Workload = None,
    interface: Interface = None,
    arch: Arch = None,
    gpu: Gpu = None,
    device: Device = None,
    sm_count: SmCount = None,
    smem_budget: SmemBudget = None,
    target: Target = None,
    modules: Modules = None,
    why_not: WhyNot = None,
    expect: Expect = None,
    added: Added = None,
    removed: Removed = None,
    whole: Whole = False,
    form: Form = Format.TEXT,
    schema: Schema = False,
) -> None:
    """Explain which kernel a call of OP selects, on which device, and why the others lose.

    Facts of the call are options: tileops explain LayerNormFwdOp --n 256 --arch 90. Or the call is
    given as tensors, which the op checks as it would when called. With an OP, --help lists both.
    Without a device option the machine's GPU is meant, and on a machine without one every known
    board.
    """
    if schema:
        write_schema("explain")
        return
    if op is None:
        raise UsageFailure("explain needs an OP", remedy="tileops explain LayerNormFwdOp --n 256")
    options = device_options(arch, gpu, device, sm_count, smem_budget)
    given = read_tensors(ctx.meta[ROW], call or [], workload, ctx.meta[FACTS])
    require_torch()
    from tileops.cli._explain import Question, ask, render

    answer = ask(
        Question(
            *(ctx.meta[ROW], interface, options, target, tuple(modules or ())),
            facts=ctx.meta[FACTS],
            call=given,
            why_not=why_not,
            expect=expect,
            added=tuple(added or ()),
            removed=tuple(removed or ()),
        )
    )
    render(answer, form.value, whole)
    met = answer.answered if expect is None else answer.selects(expect)
    if expect is not None and not met:
        click.echo(f"note: --expect {expect} is not met", err=True)
    raise typer.Exit(ANSWERED if met else NO)
