"""``tileops rule``: list the lint rules, or print the page of one."""

from __future__ import annotations

from typing import Annotated

import typer

from tileops.cli._failure import unknown

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def rule(
    name: Annotated[
        str | None, typer.Argument(metavar="RULE", help="A rule's id.", show_default=False)
    ] = None,
) -> None:
    """Print what RULE flags, why, and what it misses; without RULE, list all rules."""
    from tileops.lint._page import page
    from tileops.lint._registry import all_rules, summary

    rules = all_rules()
    if name is None:
        width = max(map(len, rules))
        for one in map(summary, rules.values()):
            typer.echo(f"{one.id:{width}}  {one.severity:8}  {one.summary}")
    elif name in rules:
        typer.echo(page(rules[name]), nl=False)
    else:
        raise unknown("rule", name, rules)
