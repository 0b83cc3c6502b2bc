"""The conditions of a refusal, and what would have to change, as lines."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tileops.cli._legend import HOLDS
from tileops.cli._render import Line, columns
from tileops.introspect.explanation import Explanation
from tileops.introspect.formula import DEVICE_FACTS, spell

if TYPE_CHECKING:
    from tileops.introspect.conditions import Condition
    from tileops.introspect.why_not import Counterfactual, WhyNot
from tileops.selection import fact_flag

__all__ = ["condition_lines", "why_not_lines"]


def condition_lines(found: Sequence[Condition]) -> Iterator[Line]:
    """Yield a line for each condition: those that fail first, then those that hold."""
    order: dict[bool | None, int] = {False: 0, None: 1, True: 2}
    yield from columns([_condition(one) for one in sorted(found, key=lambda c: order[c.holds])])


def _condition(one: Condition) -> Line:
    mark, style = HOLDS[one.holds]
    return ((f"      {mark} {one.whole}", style), (one.observed, ""), (one.place, "dim"))


def why_not_lines(answer: Explanation, found: WhyNot) -> Iterator[Line]:
    """Yield the changes after which the key asked about is selected."""
    if found.selected:
        yield ((f"  {found.key} is selected", "green"),)
        return
    if found.unreachable:
        yield ((f"  why not {found.key}: proved that no possible call selects it", "yellow"),)
        return
    if not found.found:
        why = "not found" if found.undecided else "no change of up to 3 facts selects it"
        yield ((f"  why not {found.key}: {why}", "yellow"),)
        return
    yield ((f"  why not {found.key}: it is selected after one of these changes", ""),)
    for one in found.found:
        yield ((f"    {_options(one)}", "bold"),)
        command = one.witness.selection.command()
        if command is not None:
            yield ((f"      {shlex.join([*shlex.split(command), *answer.supposing])}", "dim"),)
    if found.undecided:
        yield (("  there may be more: not everything could be decided", "yellow"),)


def _options(one: Counterfactual) -> str:
    """Return the changes as options, with the values they had."""
    words = []
    if one.board is not None:
        words.append(f"--gpu {one.board}")
    for change in one.changes:
        if change.fact in DEVICE_FACTS and one.board is not None:
            continue
        flag = fact_flag(change.fact)
        if isinstance(change.new, bool):
            words.append(flag if change.new else f"--no-{flag.removeprefix('--')}")
        else:
            words.append(f"{flag} {spell(change.new)} (is {spell(change.old)})")
    return " ".join(words)
