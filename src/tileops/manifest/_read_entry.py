"""The entry of an op: reference, signature, workloads and roofline."""

from __future__ import annotations

import re
from typing import Any

from tileops.manifest._entry import OpEntry, Roofline, Workload
from tileops.manifest._names import Names, always_given
from tileops.manifest._node import Node
from tileops.manifest._read_signature import read_signature
from tileops.manifest._record import read_field, read_record, read_value
from tileops.manifest._resolve import check_reads
from tileops.manifest._signature import Signature
from tileops.manifest._typed_shape import TypedShape

_OP_NAME = re.compile(r"[A-Z][A-Za-z0-9]*Op")
_SECTIONS = ["reference", "signature", "workloads", "roofline"]


def read_entry(name: str, family: str, node: Node) -> OpEntry:
    """Return the entry of one op.

    Raises:
        ManifestError: Something is malformed.
    """
    if not _OP_NAME.fullmatch(name):
        raise node.error("an entry is named by its op's class, such as LayerNormFwdOp")
    node.only(_SECTIONS, required=_SECTIONS)
    signature = read_signature(node.at("signature"))
    workloads = node.at("workloads").items()
    return OpEntry(
        name=name,
        family=family,
        reference=read_field(node.at("reference"), str),
        signature=signature,
        workloads=tuple(_workload(key, child, signature) for key, child in workloads.items()),
        roofline=_roofline(node.at("roofline"), signature),
    )


def _workload(name: str, node: Node, signature: Signature) -> Workload:
    node.only(["about", "inputs", "params"], required=["inputs"])
    about, inputs = node.get("about"), node.at("inputs")
    inputs.only(
        [decl.name for decl in signature.inputs],
        required=[decl.name for decl in signature.inputs if always_given(decl)],
    )
    return Workload(
        name=name,
        inputs={key: read_field(child, TypedShape) for key, child in inputs.items().items()},
        params=_workload_params(node, signature),
        about=read_field(about, str) if about else "",
    )


def _workload_params(node: Node, signature: Signature) -> dict[str, Any]:
    decls = {param.name: param for param in signature.params}
    required = [name for name, param in decls.items() if param.required]
    section = node.get("params")
    if section is None:
        if required:
            raise node.error(f"the field 'params' is missing: {', '.join(required)}")
        return {}
    section.only(list(decls), required)
    values = {name: read_value(decls[name], child) for name, child in section.items().items()}
    for name, value in values.items():
        if not decls[name].allows(value):
            raise section.at(name).error(f"{value!r} is none of the choices")
    return values


def _roofline(node: Node, signature: Signature) -> Roofline:
    roofline = read_record(node, Roofline)
    names = Names(signature)
    tensors = names.inputs | names.outputs
    for field in ("flops", "bytes"):
        expression = getattr(roofline, field)
        values = names.params | names.bound
        check_reads(expression, node.at(field), values, names.inputs, tensors)
    return roofline
