"""``tileops map``: which key is selected along one fact, or over two."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from tileops.cli._device_options import Arch, Device, Gpu, SmCount, SmemBudget, device_options
from tileops.cli._facts import OP_HELP, ROW, FactsCommand, complete_interface, complete_op
from tileops.cli._failure import UsageFailure
from tileops.cli._imports import require_torch

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


class Format(enum.StrEnum):
    """The forms of a map."""

    TEXT = "text"
    CSV = "csv"
    SVG = "svg"
    HTML = "html"


@app.command(cls=FactsCommand)
def map(
    ctx: typer.Context,
    op: Annotated[
        str | None,
        typer.Argument(help=OP_HELP, autocompletion=complete_op, show_default=False),
    ] = None,
    vary: Annotated[
        list[str] | None, typer.Option(help="An integer fact and its span, n=1..8192; or two.")
    ] = None,
    interface: Annotated[
        str | None,
        typer.Option(help="One kernel interface.", autocompletion=complete_interface),
    ] = None,
    arch: Arch = None,
    gpu: Gpu = None,
    device: Device = None,
    sm_count: SmCount = None,
    smem_budget: SmemBudget = None,
    modules: Annotated[
        list[str] | None, typer.Option("--import", help="Import a module first; may be repeated.")
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="How to write; text by default.", show_default=False)
    ] = Format.TEXT,
) -> None:
    """Map which key calls of OP select while one fact varies, or two.

    Along one fact the intervals are exact; over two, cells say whether they are proved to be
    uniform. The other facts are options, as for tileops explain. A map is of one device: the
    machine's GPU, or the one that --gpu, --arch or --device names.
    """
    if op is None or not vary or len(vary) > 2:
        raise UsageFailure(
            "map needs an OP and one --vary or two",
            remedy="tileops map LayerNormFwdOp --vary n=1..8192 --arch 90",
        )
    options = device_options(arch, gpu, device, sm_count, smem_budget)
    require_torch()
    from tileops.cli._map import ask, render

    render(ask(ctx, ctx.meta[ROW], interface, options, vary), form.value)
