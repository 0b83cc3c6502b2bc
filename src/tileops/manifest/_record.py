"""From YAML nodes to records: one reader per type of field, each error at its own line."""

from __future__ import annotations

import keyword
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

import msgspec

from tileops.manifest._dtype import DtypeRule
from tileops.manifest._expression import Expression
from tileops.manifest._form import FormError
from tileops.manifest._node import Node
from tileops.manifest._param_type import ParamType
from tileops.manifest._shape import Shape
from tileops.manifest._signature import ParamDecl
from tileops.manifest._typed_shape import TypedShape

R = TypeVar("R", bound=msgspec.Struct)

_READERS: dict[Any, Callable[[Any], Any]] = {
    DtypeRule: DtypeRule.parse,
    Expression: Expression.parse,
    ParamType: ParamType.parse,
    Shape: Shape.parse,
    TypedShape: TypedShape.parse,
}


def read_record(node: Node, record: type[R], **given: Any) -> R:
    """Return a mapping as a record; fields that are given are no fields of the mapping."""
    fields = [field for field in msgspec.structs.fields(record) if field.name not in given]
    node.only([f.name for f in fields], required=[f.name for f in fields if f.required])
    types = get_type_hints(record)
    read = {name: read_field(child, types[name]) for name, child in node.items().items()}
    return record(**given, **read)


def read_named(node: Node | None, record: type[R]) -> tuple[R, ...]:
    """Return a mapping from names to mappings as records, in order; none for None."""
    entries = node.items() if node else {}
    return tuple(
        read_record(child, record, name=identifier(name, child)) for name, child in entries.items()
    )


def read_field(node: Node, kind: Any) -> Any:
    """Return one value as a type of the manifest, or as a plain type that msgspec converts."""
    reader = _READERS.get(kind)
    try:
        return reader(node.value) if reader else msgspec.convert(node.value, kind)
    except (FormError, msgspec.ValidationError) as error:
        raise node.error(error) from error


def read_value(param: ParamDecl, node: Node) -> Any:
    """Return a value of a parameter in the form its type keeps."""
    try:
        return param.type.normalise(node.value)
    except FormError as error:
        raise node.error(f"{param.name} {error}") from error


def identifier(name: str, node: Node) -> str:
    """Return the name unless Python could not pass an argument by it."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise node.error(f"{name!r} cannot be the name of an argument")
    return name
