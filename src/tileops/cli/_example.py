"""An example of a call, for who asks about an op without the facts that it needs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

import click
import torch

from tileops.call_spec import Fact, facts_declared, option
from tileops.cli._call import requests_of
from tileops.cli._call_words import GivenCall
from tileops.cli._facts import WORDS
from tileops.cli._failure import Failure
from tileops.ops._possible import impossibility
from tileops.ops.op import Op

__all__ = ["example_call", "example_command"]


def example_command(op: type[Op], interface: str, filled: Mapping[str, Any]) -> str | None:
    """Return the command that was given with what it needs, as it can be run; None without one.

    Args:
        op: The op asked about.
        interface: Its interface that needs more facts.
        filled: The facts that are known.
    """
    ctx = click.get_current_context(silent=True)
    missing = example_call(op, interface, filled)
    if ctx is None or missing is None:
        return None
    words = [word for name, value in missing.items() for word in option(name, value)]
    return shlex.join([*ctx.command_path.split(), *ctx.meta[WORDS], *words])


def example_call(
    op: type[Op], interface: str, filled: Mapping[str, Any] | None = None
) -> dict[str, Any] | None:
    """Return values for the required facts that are not filled in.

    They are those of the first workload that asks the interface for a kernel, or for an op
    without one, and where these do not fit what is filled in, the least of their ranges.

    Returns:
        The values by name; None where they make no possible call.
    """
    known = dict(filled or {})
    spec = op.interfaces[interface].calls()
    required = [one for one in facts_declared(spec) if one.required and one.name not in known]
    for values in (_of_workload(op, interface), _least(required)):
        found = {one.name: values[one.name] for one in required if one.name in values}
        if len(found) == len(required) and impossibility(spec(**{**known, **found})) is None:
            return found
    return None


def _of_workload(op: type[Op], interface: str) -> Mapping[str, Any]:
    entry = op.entry()
    for workload in () if entry is None or op.signature() is None else entry.workloads:
        try:
            _, requests = requests_of(op, GivenCall({}, {}, workload.name), torch.device("cuda"))
        except Failure:
            continue
        for name, call in requests:
            if name == interface:
                return call.facts()
    return {}


def _least(facts: Iterable[Fact]) -> Mapping[str, Any]:
    return {one.name: one.kind(one.range.low) for one in facts if one.range is not None}
