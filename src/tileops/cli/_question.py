"""From the words of a command to a call: the facts given, checked, with defaults filled in."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import click

from tileops.call_spec import Fact, facts_declared
from tileops.cli._facts import FACTS
from tileops.cli._failure import UsageFailure, unknown
from tileops.ops.op import Op
from tileops.selection import fact_flag


def given_facts(ctx: click.Context) -> dict[str, Any]:
    """Return the facts that options stated."""
    return dict(ctx.meta.get(FACTS, {}))


def chosen_interfaces(op: type[Op], interface: str | None) -> tuple[str, ...]:
    """Return the interfaces that the question is about: the one named, or all.

    Raises:
        UsageFailure: The op has no such interface, or none at all.
    """
    if interface is None:
        if not op.interfaces:
            raise UsageFailure(f"{op.__name__} has no kernel interface to explain")
        return tuple(op.interfaces)
    if interface not in op.interfaces:
        names = ", ".join(op.interfaces) or "none"
        remedy = f"{op.__name__} has the interfaces {names}"
        raise unknown("interface", interface, op.interfaces, remedy)
    return (interface,)


def reject_strangers(op: type[Op], interfaces: tuple[str, ...], given: dict[str, Any]) -> None:
    """Reject a fact that the op has, but none of the interfaces asked about.

    Raises:
        UsageFailure: There is such a fact.
    """
    known = {f.name for one in interfaces for f in facts_declared(op.interfaces[one].calls())}
    for name in given:
        if name not in known:
            flags = [fact_flag(one) for one in sorted(known)]
            where = ", ".join(interfaces)
            raise UsageFailure(
                f"{fact_flag(name)} is no fact of {op.__name__}.{where}",
                remedy=f"it has the facts {', '.join(flags) or 'none'}",
            )


def complete_facts(
    op: type[Op], interface: str, given: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return every fact of an interface's call spec, and the names of those defaulted.

    Raises:
        UsageFailure: A required fact is missing, or a value lies outside its range.
    """
    spec = op.interfaces[interface].calls()
    declared = facts_declared(spec)
    stated = {f.name: _value(f, given[f.name]) for f in declared if f.name in given}
    filled = {**spec.derived(stated), **stated}
    missing = [fact_flag(f.name) for f in declared if f.required and f.name not in filled]
    if missing:
        whose = op.__name__ if len(op.interfaces) == 1 else f"{op.__name__}.{interface}"
        raise UsageFailure(
            f"{whose} needs {', '.join(missing)}", remedy=_missing(op, interface, filled)
        )
    facts = {f.name: filled.get(f.name, f.default) for f in declared}
    return facts, tuple(f.name for f in declared if f.name not in given)


def _missing(op: type[Op], interface: str, filled: Mapping[str, Any]) -> str:
    """Say how the question can be asked: a line that can be run, then where more is to be had."""
    from tileops.cli._example import example_command

    command = example_command(op, interface, filled)
    more = f"tileops explain {op.__name__} --help lists every fact"
    entry = op.entry()
    if entry is not None and entry.workloads:
        more += " and workload"
    return more if command is None else f"{command}\n{more}"


def _value(fact: Fact, value: Any) -> Any:
    """Turn a name into the dtype or member it names, and check a number against its range."""
    import torch

    if isinstance(value, str) and fact.kind is torch.dtype:
        return getattr(torch, value)
    if isinstance(value, str) and isinstance(fact.kind, type) and issubclass(fact.kind, enum.Enum):
        return fact.kind[value]
    if fact.range is not None and value is not None and value not in fact.range:
        raise UsageFailure(f"{fact_flag(fact.name)} must be {fact.range}, got {value}")
    return value
