"""Asking and answering ``tileops explain``, once torch may be loaded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import click

from tileops.backend import BUILTIN
from tileops.call_spec import CallSpec
from tileops.cli._explain_json import explanation_record
from tileops.cli._explain_md import explanation_markdown
from tileops.cli._explain_text import explanation_lines
from tileops.cli._failure import unknown
from tileops.cli._imports import import_modules, load_op, stdout_kept_clean
from tileops.cli._index import OpRow
from tileops.cli._places import DeviceOptions, read_places
from tileops.cli._question import (
    chosen_interfaces,
    complete_facts,
    given_facts,
    reject_strangers,
)
from tileops.cli._render import emit, write
from tileops.cli._suppositions import supposing_words, tables_supposing
from tileops.introspect.explanation import (
    Explanation,
    InterfaceAnswer,
    explain_request,
    target_answer,
)
from tileops.ops.op import Op
from tileops.selection import Stage


@dataclass(frozen=True)
class Wishes:
    """What is asked beside what a call selects.

    Attributes:
        why_not: A key whose selection is to be explained.
        added: Classes to suppose, as ``module:Class``.
        removed: Keys to suppose away.
    """

    why_not: str | None = None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def ask(
    ctx: click.Context,
    row: OpRow,
    interface: str | None,
    options: DeviceOptions,
    target: str | None,
    modules: list[str],
    wishes: Wishes = Wishes(),
) -> Explanation:
    """Answer the question of a command line.

    Raises:
        UsageFailure: A name or a value is wrong.
        LoadFailure: The op, a module or a backend cannot be loaded.
    """
    with stdout_kept_clean():
        op = load_op(row)
        import_modules(modules)
        places = read_places(options)
        tables = tables_supposing(op, list(wishes.added), list(wishes.removed))
        _check_target(op, target)
        given = given_facts(ctx)
        chosen = chosen_interfaces(op, interface)
        reject_strangers(op, chosen, given)
        interfaces = []
        defaulted: tuple[str, ...] = ()
        for name in chosen:
            facts, missing = complete_facts(op, name, given)
            defaulted = tuple(dict.fromkeys([*defaulted, *missing]))
            spec = op.interfaces[name].request
            answer = explain_request(tables[name], spec, facts, places.places)
            asked = wishes.why_not if wishes.why_not in answer.keys else None
            interfaces.append(_with_detail(answer, spec, asked))
        check_key(op.__name__, wishes.why_not, interfaces)
        device = places.places[0].torch_device()
        return Explanation(
            op.__name__,
            target_answer(op, target, device),
            defaulted,
            places.every_board,
            tuple(interfaces),
            op.registry.failures,
            supposing_words(list(wishes.added), list(wishes.removed)),
        )


def _with_detail(answer: InterfaceAnswer, spec: type[CallSpec], key: str | None) -> InterfaceAnswer:
    """Add what formulas say, loading what makes them only where there is something to say."""
    refused = any(v.stage is Stage.REFUSED for g in answer.groups for v in g.selection.verdicts)
    if not refused and key is None:
        return answer
    from tileops.introspect.detail import detailed

    return detailed(answer, spec, key)


def check_key(op: str, key: str | None, interfaces: Sequence[InterfaceAnswer]) -> None:
    """Reject a key that none of the interfaces asked about has.

    Raises:
        UsageFailure: There is no such key.
    """
    keys = [name for one in interfaces for name in one.keys]
    if key is not None and key not in keys:
        raise unknown(f"key of {op}", key, keys)


def _check_target(op: type[Op], target: str | None) -> None:
    known = [*op.registry.targets(), BUILTIN]
    if target is not None and target not in known:
        remedy = f"known: {', '.join(known)}; --import MODULE adds targets of other packages"
        raise unknown("target", target, known, remedy)


def render(answer: Explanation, form: str) -> None:
    """Write an answer to stdout as text, json or md."""
    if form == "json":
        emit(json.dumps(explanation_record(answer), indent=2, allow_nan=False) + "\n")
    elif form == "md":
        emit(explanation_markdown(answer))
    else:
        write(explanation_lines(answer))
