"""The command whose call can also be given as tensors: its help, and the completion of words."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from tileops.cli._facts import ROW, FactsCommand
from tileops.cli._index import FactRow, InputRow, OpRow

if TYPE_CHECKING:
    from tileops.cli._call_words import GivenCall

CALL_HELP = "The call as tensors and parameters, such as 'input=f16[32,256]' normalized_shape=256."


class CallCommand(FactsCommand):
    """A command whose call is given by facts, or by words that name tensors and parameters."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Add the workloads, inputs and parameters of the op that was named."""
        super().format_options(ctx, formatter)
        row: OpRow | None = ctx.meta.get(ROW)
        if row is None or not row.inputs:
            return
        if row.workloads:
            with formatter.section("Workloads"):
                for line in _filled(row.workloads, formatter.width - formatter.current_indent):
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")
        with formatter.section("Inputs"):
            formatter.write_dl([(f"{one.name}=", _input_text(one)) for one in row.inputs])
        if row.params:
            with formatter.section("Parameters"):
                formatter.write_dl([(f"{one.name}=", _param_text(one)) for one in row.params])


def read_tensors(
    row: OpRow, words: Sequence[str], workload: str | None, facts: Mapping[str, Any]
) -> GivenCall | None:
    """Return the call that words and a workload give; None where facts do.

    Raises:
        UsageFailure: See `read_call`.
    """
    if not words and workload is None:
        return None
    # Reading needs the manifest's records, which facts do not.
    from tileops.cli._call_words import read_call

    return read_call(row, words, workload, list(facts))


def complete_word(ctx: click.Context, incomplete: str) -> list[str]:
    """Return the inputs and parameters of the op named earlier that the line does not have yet."""
    row: OpRow | None = ctx.meta.get(ROW)
    if row is None or "=" in incomplete:
        return []
    given = {word.partition("=")[0] for word in ctx.params.get("call") or ()}
    names = [name for name in row.words if name not in given]
    return [f"{name}=" for name in names if name.startswith(incomplete)]


def complete_workload(ctx: click.Context, incomplete: str) -> list[str]:
    """Return the workloads of the op named earlier that begin with what was typed."""
    row: OpRow | None = ctx.meta.get(ROW)
    return [] if row is None else [one for one in row.workloads if one.startswith(incomplete)]


def _filled(names: Sequence[str], width: int) -> list[str]:
    return textwrap.wrap(", ".join(names), width, break_on_hyphens=False)


def _input_text(row: InputRow) -> str:
    return f"{row.dtype} {row.shape}" + (f", {row.presence}" if row.presence else "")


def _param_text(row: FactRow) -> str:
    kind = "|".join(row.choices) or row.kind
    text = kind + (f", {row.range}" if row.range else "") + (" or none" if row.optional else "")
    return text + (" (required)" if row.default is None else f" (default {row.default})")
