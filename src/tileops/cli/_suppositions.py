"""``--with`` and ``--without``: the tables of an op as they would be with other keys."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from tileops.cli._failure import LoadFailure, UsageFailure, unknown
from tileops.cli._imports import import_modules
from tileops.errors import DispatchError
from tileops.introspect.hypothesis import key_of_class, supposed_tables
from tileops.ops.op import Op
from tileops.selection import SelectionTable

__all__ = ["supposing_words", "tables_supposing"]


def tables_supposing(
    op: type[Op], added: list[str], removed: list[str]
) -> Mapping[str, SelectionTable]:
    """Return the tables of *op* with the classes *added* and without the keys *removed*.

    Raises:
        UsageFailure: A key or a class is unknown, or the op could not have these keys.
        LoadFailure: A module cannot be imported, or the op cannot be constructed as it is.
    """
    # Importing a class may register others, so it comes first.
    named = dict(map(_named_class, added))
    try:
        tables = op.selection_tables()
    except DispatchError as error:
        raise LoadFailure(f"{op.__name__} cannot be constructed", cause=str(error)) from error
    if not added and not removed:
        return tables
    keys = [one.key for table in tables.values() for one in table.candidates]
    for key in removed:
        if key not in keys:
            raise unknown("key", key, keys, of=op.__name__)
    try:
        return supposed_tables(op, named, removed)
    except DispatchError as error:
        raise UsageFailure(f"{op.__name__} could not have these keys", cause=str(error)) from error


def supposing_words(added: list[str], removed: list[str]) -> tuple[str, ...]:
    """Return the options that suppose the same keys again."""
    return tuple(
        word
        for option, values in (("--with", added), ("--without", removed))
        for value in values
        for word in (option, value)
    )


def _named_class(text: str) -> tuple[str, type]:
    """Read ``module:Class`` or ``key=module:Class``."""
    key, equals, place = text.rpartition("=")
    module, colon, name = place.partition(":")
    if not (module and colon and name) or (equals and not key):
        raise UsageFailure(
            f"--with takes module:Class or key=module:Class, got {text!r}",
            remedy="tileops explain LayerNormFwdOp --n 256 --with my_kernels:FastLayerNorm",
        )
    import_modules([module])
    kind = getattr(import_module(module), name, None)
    if not isinstance(kind, type):
        raise unknown("class", name, _classes(module), of=module)
    return key or key_of_class(kind), kind


def _classes(module: str) -> list[str]:
    found = vars(import_module(module)).items()
    return [name for name, one in found if isinstance(one, type) and one.__module__ == module]
