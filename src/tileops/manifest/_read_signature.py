"""The signature of an entry: its sections read one by one, then its names resolved."""

from __future__ import annotations

import msgspec

from tileops.manifest._dtype import check_dtype
from tileops.manifest._expression import Expression
from tileops.manifest._form import FormError, nearest
from tileops.manifest._node import Node
from tileops.manifest._record import identifier, read_field, read_named, read_record, read_value
from tileops.manifest._resolve import resolve
from tileops.manifest._signature import (
    BufferDecl,
    DtypeVar,
    OutputDecl,
    ParamDecl,
    Refinement,
    Signature,
    TensorDecl,
)


def read_signature(node: Node) -> Signature:
    """Return a signature.

    Raises:
        ManifestError: A field is malformed, or a name is not known where it is read.
    """
    node.only(list(Signature.__struct_fields__), required=["inputs"])
    inputs = read_named(node.get("inputs"), TensorDecl)
    signature = Signature(
        inputs=inputs,
        outputs=tuple(_output(*item, inputs) for item in _items(node.get("outputs"))),
        params=tuple(_param(*item) for item in _items(node.get("params"))),
        dtypes=tuple(_dtype_var(*item) for item in _items(node.get("dtypes"))),
        together=tuple(read_field(child, tuple[str, ...]) for child in _elements(node, "together")),
        refinements=tuple(map(_refinement, _elements(node, "refinements"))),
        buffers=read_named(node.get("buffers"), BufferDecl),
        execution=tuple(_param(*item) for item in _items(node.get("execution"))),
    )
    resolve(signature, node)
    return signature


def _items(node: Node | None) -> list[tuple[str, Node]]:
    return list(node.items().items()) if node else []


def _elements(node: Node, section: str) -> list[Node]:
    found = node.get(section)
    return found.elements() if found else []


def _refinement(node: Node) -> Refinement:
    """Read a condition: its text alone, or with the sentence that errors say."""
    if node.children is None:
        return Refinement(require=read_field(node, Expression))
    return read_record(node, Refinement)


def _param(name: str, node: Node) -> ParamDecl:
    """Read a parameter; its default and choices are kept in the form its type keeps."""
    param = read_record(node, ParamDecl, name=identifier(name, node))
    choices = tuple(read_value(param, child) for child in _elements(node, "choices"))
    param = msgspec.structs.replace(param, choices=choices)
    if param.required:
        return param
    default = read_value(param, node.at("default"))
    if not param.allows(default):
        raise node.at("default").error(f"{default!r} is none of the choices")
    return msgspec.structs.replace(param, default=default)


def _dtype_var(name: str, node: Node) -> DtypeVar:
    for element in node.elements():
        try:
            check_dtype(element.value)
        except FormError as error:
            raise element.error(error) from error
    if not node.elements():
        raise node.error("allows no dtype")
    return DtypeVar(name=identifier(name, node), allowed=tuple(node.value))


def _output(name: str, node: Node, inputs: tuple[TensorDecl, ...]) -> OutputDecl:
    """Read an output; one that is an input given back has that input's dtype and shape."""
    alias = node.get("alias")
    if alias is None:
        return read_record(node, OutputDecl, name=identifier(name, node))
    decls = {decl.name: decl for decl in inputs}
    if alias.value not in decls:
        raise alias.error(f"{alias.value!r} is no input{nearest(str(alias.value), decls)}")
    decl = decls[alias.value]
    return read_record(
        node, OutputDecl, name=identifier(name, node), dtype=decl.dtype, shape=decl.shape
    )
