"""Asking and answering ``tileops explain``, once torch may be loaded."""

from __future__ import annotations

import json

import click

from tileops.cli._explain_json import explanation_record
from tileops.cli._explain_md import explanation_markdown
from tileops.cli._explain_text import explanation_lines
from tileops.cli._failure import LoadFailure
from tileops.cli._imports import import_modules, load_op, warnings_on_stderr
from tileops.cli._index import OpRow
from tileops.cli._places import DeviceOptions, read_places
from tileops.cli._question import chosen_interfaces, complete_facts, given_facts
from tileops.cli._render import write
from tileops.errors import DispatchError
from tileops.introspect.explanation import Explanation, explain_request, target_answer


def ask(
    ctx: click.Context,
    row: OpRow,
    interface: str | None,
    options: DeviceOptions,
    target: str | None,
    modules: list[str],
) -> Explanation:
    """Answer the question of a command line.

    Raises:
        UsageFailure: A name or a value is wrong.
        LoadFailure: The op, a module or a backend cannot be loaded.
    """
    with warnings_on_stderr():
        op = load_op(row)
        import_modules(modules)
        places = read_places(options)
        try:
            tables = op.selection_tables()
        except DispatchError as error:
            raise LoadFailure(f"{row.name} cannot be constructed", cause=str(error)) from error
        given = given_facts(ctx)
        interfaces = []
        defaulted: tuple[str, ...] = ()
        for name in chosen_interfaces(op, interface):
            facts, missing = complete_facts(op, name, given)
            defaulted = tuple(dict.fromkeys([*defaulted, *missing]))
            spec = op.interfaces[name].request
            interfaces.append(explain_request(tables[name], spec, facts, places.places))
        device = places.places[0].torch_device()
        return Explanation(
            op.__name__,
            target_answer(op, target, device),
            defaulted,
            places.every_board,
            tuple(interfaces),
        )


def render(answer: Explanation, form: str) -> None:
    """Write an answer to stdout as text, json or md."""
    if form == "json":
        click.echo(json.dumps(explanation_record(answer), indent=2))
    elif form == "md":
        click.echo(explanation_markdown(answer), nl=False)
    else:
        write(explanation_lines(answer))
