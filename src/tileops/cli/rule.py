"""``tileops rule``: list the lint rules, or print the page of one."""

from __future__ import annotations

from typing import Annotated

import typer

from tileops.cli._failure import unknown
from tileops.cli._stdout import emit

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


def _complete_rule(incomplete: str) -> list[str]:
    from tileops.lint._registry import rule_ids

    return [one for one in rule_ids() if one.startswith(incomplete)]


@app.command()
def rule(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="RULE",
            help="A rule's id.",
            show_default=False,
            autocompletion=_complete_rule,
        ),
    ] = None,
) -> None:
    """Print what RULE flags, why, and what it misses; without RULE, list all rules."""
    from tileops.lint._page import page
    from tileops.lint._registry import all_rules, summary

    rules = all_rules()
    if name is None:
        width = max(map(len, rules))
        listed = map(summary, rules.values())
        emit("".join(f"{one.id:{width}}  {one.severity:8}  {one.summary}\n" for one in listed))
    elif name in rules:
        emit(page(rules[name]))
    else:
        raise unknown("rule", name, rules)
