"""From names on the command line to op classes, and to their interfaces explored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tileops.cli._facts import find_row
from tileops.cli._failure import LoadFailure, unknown
from tileops.cli._imports import import_modules, load_op
from tileops.errors import DispatchError
from tileops.introspect.symbolic.exploration import Explored, explore
from tileops.ops.catalogue import in_tree_ops, ops_in
from tileops.ops.op import Op
from tileops.selection import SelectionTable

__all__ = ["chosen_ops", "explored_interfaces", "tables_of_op"]


def chosen_ops(names: list[str], modules: list[str]) -> dict[str, type[Op]]:
    """Return the named ops by name, or with none named those of the tree and of *modules*.

    Raises:
        UsageFailure: There is no such op.
        LoadFailure: A module cannot be imported.
    """
    import_modules(modules)
    if names:
        return {name: load_op(find_row(name, modules)) for name in dict.fromkeys(names)}
    found = in_tree_ops()
    for module in modules:
        found |= ops_in(module)
    return {name: op for name, op in sorted(found.items()) if op.interfaces or op.kernel_types}


def tables_of_op(op: type[Op]) -> dict[str, SelectionTable]:
    """Return the selection tables of an op.

    Raises:
        LoadFailure: The op cannot be constructed.
    """
    try:
        return dict(op.selection_tables())
    except DispatchError as error:
        raise LoadFailure(f"{op.__name__} cannot be constructed", cause=str(error)) from error


def explored_interfaces(ops: Iterable[type[Op]], interface: str | None) -> Iterator[Explored]:
    """Explore the interfaces of ops: the one named, or all.

    Raises:
        UsageFailure: No op has the interface.
        LoadFailure: An op cannot be constructed.
    """
    found = False
    names: dict[str, None] = {}
    for op in ops:
        for name, table in tables_of_op(op).items():
            names.setdefault(name)
            if interface in (None, name) and table.candidates:
                found = True
                yield explore(table, op.interfaces[name].calls())
    if interface is not None and not found:
        raise unknown("interface", interface, names)
