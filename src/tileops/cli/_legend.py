"""The marks of an explanation, and the lines at its end that say what they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from tileops.cli._render import Line
from tileops.introspect.explanation import Explanation, Group
from tileops.selection import Stage

if TYPE_CHECKING:
    from tileops.introspect.conditions import Condition

__all__ = ["HOLDS", "MARKS", "legend_lines"]

MARKS: Final[Mapping[Stage, tuple[str, str]]] = {
    Stage.SELECTED: ("*", "bold green"),
    Stage.OUTRANKED: ("o", "cyan"),
    Stage.TIED: ("?", "bold yellow"),
    Stage.RAISED: ("!", "bold red"),
    **dict.fromkeys((Stage.DEVICE, Stage.ARCH, Stage.REFUSED), ("x", "red")),
}
"""The mark of a key and its style, by the stage that the key reached."""

HOLDS: Final[Mapping[bool | None, tuple[str, str]]] = {
    False: ("x", "red"),
    None: ("?", "yellow"),
    True: ("+", "green"),
}
"""The mark of a condition and its style, by whether it holds."""

_MEANING: Final = {
    Stage.SELECTED: "selected",
    Stage.OUTRANKED: "would serve, outranked",
    Stage.TIED: "would serve, tied",
    Stage.RAISED: "its refusal failed",
    Stage.REFUSED: "does not serve",
}

_CONDITION: Final = {
    False: "a condition that fails",
    None: "a condition that is not known",
    True: "a condition that holds",
}


def legend_lines(
    answer: Explanation, whole: bool, shown: Callable[[Group, str], tuple[Condition, ...]]
) -> Iterator[Line]:
    """Yield what the marks mean where there are several, and how to be told more.

    Args:
        answer: What was shown.
        whole: Whether all of it was.
        shown: Returns the conditions of a key in a group that were shown.
    """
    groups = [group for one in answer.interfaces for group in one.groups]
    verdicts = [verdict for group in groups for verdict in group.selection.verdicts]
    reached = {_kind(one.stage) for one in verdicts}
    held = {one.holds for g in groups for v in g.selection.verdicts for one in shown(g, v.key)}
    meanings: dict[str, str] = {}
    for mark, said in (
        *((MARKS[one][0], said) for one, said in _MEANING.items() if one in reached),
        *((HOLDS[one][0], said) for one, said in _CONDITION.items() if one in held),
    ):
        meanings[mark] = f"{meanings[mark]}, or {said}" if mark in meanings else said
    if len(meanings) > 1:
        yield ()
        text = "   ".join(f"{mark} {said}" for mark, said in meanings.items())
        yield (("marks    ", "dim"), (text, "dim"))
    if not whole and (len(verdicts) > len(groups) or answer.every_board):
        one_board = "; --gpu BOARD is about one board" if answer.every_board else ""
        yield (("more     ", "dim"), (f"--all shows {_LEFT_OUT}{one_board}", "dim"))


_LEFT_OUT: Final = "every condition, class and precedence"


def _kind(stage: Stage) -> Stage:
    """Return the stage that stands for all with the same mark and meaning."""
    return Stage.REFUSED if stage in (Stage.DEVICE, Stage.ARCH) else stage
