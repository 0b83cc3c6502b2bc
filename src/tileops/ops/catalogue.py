"""Every op class there is: the package's own, and those that imported modules define."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

from tileops import ops
from tileops.ops._tables import origin_of
from tileops.ops.op import Op
from tileops.selection import IN_TREE

__all__ = ["in_tree_ops", "op_class", "ops_in"]


def in_tree_ops() -> dict[str, type[Op]]:
    """Import every module of the package's ops and return the op classes by name, sorted."""
    for module in walk_packages(ops.__path__, f"{ops.__name__}."):
        import_module(module.name)
    found = {one.__name__: one for one in _subclasses(Op) if origin_of(one) == IN_TREE}
    return dict(sorted(found.items()))


def ops_in(module: str) -> dict[str, type[Op]]:
    """Return the op classes that an imported module or package defines, by name, sorted."""
    inside = [one for one in _subclasses(Op) if f"{one.__module__}.".startswith(f"{module}.")]
    found = {one.__name__: one for one in inside}
    return dict(sorted(found.items()))


def op_class(name: str, module: str | None = None) -> type[Op] | None:
    """Return the op class with this name among the modules imported so far, or None.

    Args:
        name: The class's name.
        module: The module whose class it is, where several have the name.
    """
    named = [one for one in _subclasses(Op) if one.__name__ == name]
    return next((one for one in named if one.__module__ == module), next(iter(named), None))


def _subclasses(kind: type[Op]) -> list[type[Op]]:
    found = []
    for subclass in kind.__subclasses__():
        found += [subclass, *_subclasses(subclass)]
    return found
