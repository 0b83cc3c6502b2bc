"""Checking the parameters of an op when it is constructed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tileops.errors import ArgumentValueError, MissingArgumentError
from tileops.manifest import Scope, Signature
from tileops.ops._signature._arguments import as_torch, check_keywords, check_value
from tileops.ops._signature._describe import described, manifest_value
from tileops.ops._signature._refinements import check_refinements


def check_params(op: str, signature: Signature, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return an op's parameters, checked, in the order of the signature, defaults filled in.

    A value is kept in one form: a float for ``1``, a tuple for an int or a list of sizes.

    Args:
        op: The op's name, for messages.
        signature: The op's signature.
        params: The constructor's arguments by name.

    Raises:
        UnknownArgumentError: An argument is no parameter.
        MissingArgumentError: A parameter without a default is absent.
        ArgumentTypeError: A value has another type than declared.
        ArgumentValueError: A value is none of the choices, not finite, or a negative size.
        RefinementError: A refinement that reads parameters alone does not hold.
    """
    check_keywords(op, "parameter", signature.params, params)
    values = {}
    for decl in signature.params:
        if decl.name in params:
            values[decl.name] = check_value(op, decl, params[decl.name])
        elif decl.required:
            raise MissingArgumentError(
                op=op, tensor=decl.name, requirement=f"be {decl.type}", given="nothing"
            )
        else:
            values[decl.name] = as_torch(decl, decl.default)
    for name in signature.size_params:
        _check_sizes(op, name, values[name])
    scope = Scope({name: manifest_value(value) for name, value in values.items()})
    check_refinements(op, signature.param_refinements, scope, {})
    return values


def _check_sizes(op: str, name: str, value: int | tuple[int, ...]) -> None:
    sizes = value if isinstance(value, tuple) else (value,)
    if min(sizes, default=0) < 0:
        raise ArgumentValueError(
            op=op, tensor=name, requirement="hold no negative size", given=described(value)
        )
