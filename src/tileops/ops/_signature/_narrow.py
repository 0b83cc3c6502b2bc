"""A signature with everything decided that an op's parameters decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from tileops.manifest import DtypeRule, Expression, Scope, Shape, Signature

R = TypeVar("R", bound=msgspec.Struct)


def narrowed(signature: Signature, params: Mapping[str, Any]) -> Signature:
    """Return the signature as the calls of one op instance see it.

    Conditions that read parameters alone are evaluated here, once, and so are the refinements,
    which the constructor has checked: a call evaluates only what depends on the call.

    Args:
        signature: The op's signature.
        params: The op's parameters as the manifest's expressions read them.
    """
    scope = Scope(params)
    return msgspec.structs.replace(
        signature,
        inputs=tuple(_narrowed(decl, scope) for decl in signature.inputs),
        outputs=tuple(_narrowed(decl, scope) for decl in signature.outputs),
        refinements=signature.call_refinements,
    )


def _narrowed(record: R, scope: Scope) -> R:
    fields = {name: getattr(record, name) for name in record.__struct_fields__}
    decided = {
        name: value.narrowed(scope)
        for name, value in fields.items()
        if isinstance(value, Expression | Shape | DtypeRule)
    }
    return msgspec.structs.replace(record, **decided)
