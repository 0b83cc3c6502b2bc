"""Selection tables as they would be with an implementation more, or one fewer."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, cast

from tileops.ops._tables import tables_of
from tileops.ops.op import Op
from tileops.selection import Candidate, SelectionTable

__all__ = ["key_of_class", "supposed_tables"]


def supposed_tables(
    op: type[Op], added: Mapping[str, type], removed: Collection[str]
) -> Mapping[str, SelectionTable]:
    """Return the tables of an op if it had other keys.

    Nothing is registered. A preference over a removed key falls away with it.

    Args:
        op: The op.
        added: Further implementations by key, checked like the op's own.
        removed: Keys to leave out.

    Raises:
        DispatchError: A class, a key or a preference breaks the contract.
    """
    op.registry.load()
    kinds = {**op.kernel_types, **added}
    # No subclass of Op, which would count as an op of its own for as long as it lives.
    members = {
        "kernel_types": kinds,
        "interfaces": op.interfaces,
        "__module__": op.__module__,
        "__qualname__": op.__qualname__,
    }
    stand_in = cast(Any, type(op.__name__, (), members))
    tables = tables_of(stand_in, op.registry)
    return {name: _without(table, frozenset(removed)) for name, table in tables.items()}


def _without(table: SelectionTable, removed: frozenset[str]) -> SelectionTable:
    kept = [_indifferent(one, removed) for one in table.candidates if one.key not in removed]
    return SelectionTable(table.op, table.interface, kept, table.origin)


def _indifferent(candidate: Candidate, to: frozenset[str]) -> Candidate:
    """Return the candidate without its preferences over some keys."""
    kind: Any = candidate.implementation
    if not to & kind.preferred_over:
        return candidate
    members = {
        "preferred_over": kind.preferred_over - to,
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
    }
    return Candidate(candidate.key, type(kind.__name__, (kind,), members), candidate.origin)


def key_of_class(kind: type) -> str:
    """Return the key that a class gets unless another is given: its name in snake case."""
    name = re.sub(r"Kernel$", "", kind.__name__) or kind.__name__
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower().strip("_")
