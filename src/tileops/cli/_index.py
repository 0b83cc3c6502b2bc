"""The static index of ops, interfaces and facts, so that help and completion load no torch.

``python -m tileops.cli._index`` writes ``op_index.json`` anew; a test fails when it is stale.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tileops.call_spec import Fact
    from tileops.ops.op import Op

FILE = "op_index.json"


@dataclass(frozen=True)
class FactRow:
    """A fact as an option needs it.

    Attributes:
        name: The fact's name.
        kind: int, float, bool, str, dtype or choice.
        default: The default as the command line spells it; None where a value is required.
        range: The values it can have, in words.
        choices: The values of a choice.
        optional: Whether ``none`` is a value.
    """

    name: str
    kind: str
    default: str | None
    range: str = ""
    choices: tuple[str, ...] = ()
    optional: bool = False


@dataclass(frozen=True)
class OpRow:
    """An op as the command line needs it: its module, and the facts of every interface."""

    name: str
    module: str
    interfaces: Mapping[str, tuple[FactRow, ...]]

    def facts(self, interface: str | None = None) -> tuple[FactRow, ...]:
        """Return the facts of one interface, or of all, each once."""
        rows = [self.interfaces[interface]] if interface else self.interfaces.values()
        return tuple({row.name: row for facts in rows for row in facts}.values())


@cache
def in_tree_index() -> dict[str, OpRow]:
    """Read the index that ships with the package."""
    stored = json.loads((files("tileops.cli") / FILE).read_text(encoding="utf-8"))
    return {
        name: OpRow(
            name,
            row["module"],
            {
                interface: tuple(
                    FactRow(**{**fact, "choices": tuple(fact["choices"])}) for fact in facts
                )
                for interface, facts in row["interfaces"].items()
            },
        )
        for name, row in stored.items()
    }


def row_of(op: type[Op]) -> OpRow:
    """Derive the row of an op class from the class itself."""
    from tileops.call_spec import facts_declared

    return OpRow(
        op.__name__,
        op.__module__,
        {
            name: tuple(_fact_row(fact) for fact in facts_declared(interface.request))
            for name, interface in op.interfaces.items()
        },
    )


def _fact_row(fact: Fact) -> FactRow:
    import enum

    import torch

    from tileops.call_spec import spell

    choices: tuple[str, ...] = ()
    kind = fact.kind.__name__
    if fact.kind is torch.dtype:
        kind = "dtype"
    elif isinstance(fact.kind, type) and issubclass(fact.kind, enum.Enum):
        kind, choices = "choice", tuple(fact.kind.__members__)
    return FactRow(
        name=fact.name,
        kind=kind,
        default=None if fact.required else spell(fact.default),
        range="" if fact.range is None else str(fact.range),
        choices=choices,
        optional=fact.optional,
    )


def build() -> str:
    """Return the text of the index for the ops as they are."""
    from dataclasses import asdict

    from tileops.ops.catalogue import in_tree_ops

    rows: dict[str, Any] = {}
    for name, op in in_tree_ops().items():
        row = row_of(op)
        rows[name] = {
            "module": row.module,
            "interfaces": {
                interface: [asdict(fact) for fact in facts]
                for interface, facts in row.interfaces.items()
            },
        }
    return json.dumps(rows, indent=1, default=list) + "\n"


if __name__ == "__main__":
    from pathlib import Path

    Path(__file__).with_name(FILE).write_text(build(), encoding="utf-8")
