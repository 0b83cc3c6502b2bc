"""The first stage: what is passed, and whether it is a tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tileops.errors import (
    IncompleteGroupError,
    MissingInputError,
    NotATensorError,
    NotStridedError,
    TooManyInputsError,
    UnexpectedInputError,
)
from tileops.manifest import Scope, Signature, TensorDecl
from tileops.ops._signature._arguments import check_keywords
from tileops.ops._signature._bound import Values
from tileops.ops._signature._describe import all_of, described
from tileops.ops._signature._wrappers import unstrided
from tileops.tensor_spec import TensorSpec


def check_presence(
    op: str, signature: Signature, params: Mapping[str, Any], inputs: Sequence[Any]
) -> Values:
    """Return the inputs given, described, by name.

    Args:
        op: The op's name.
        signature: Its signature.
        params: Its parameters as the manifest's expressions read them.
        inputs: A tensor or a description per input, in order, None where absent.

    Raises:
        SignatureError: An input is missing, in excess, or no tensor.
    """
    decls = signature.inputs
    if len(inputs) > len(decls):
        names = ", ".join(decl.name for decl in decls)
        raise TooManyInputsError(
            op=op, tensor="inputs", requirement=f"the inputs {names}", given=str(len(inputs))
        )
    passed = {
        decl.name: value for decl, value in zip(decls, inputs, strict=False) if value is not None
    }
    scope = Scope(params, frozenset(passed))
    specs = {}
    for decl in decls:
        _check_presence(op, decl, scope, passed.get(decl.name))
        if decl.name in passed:
            specs[decl.name] = as_spec(op, decl.name, passed[decl.name])
    _check_groups(op, signature, scope)
    return specs


def check_buffers(
    op: str, signature: Signature, scope: Scope, buffers: Mapping[str, Any]
) -> Values:
    """Return the buffers given, described, by keyword.

    Raises:
        SignatureError: A keyword is unknown, its output is not returned by this call, or its
            value is no tensor.
    """
    check_keywords(op, "output buffer", signature.buffers, buffers)
    outputs = {decl.name: decl for decl in signature.outputs}
    specs = {}
    for buffer in signature.buffers:
        value = buffers.get(buffer.name)
        if value is None:
            continue
        when = outputs[buffer.output].when
        if not when.evaluate(scope):
            raise UnexpectedInputError(
                op=op,
                tensor=buffer.name,
                requirement=f"be left out, as {buffer.output} is returned only when {when}",
                given=described(value),
            )
        specs[buffer.name] = as_spec(op, buffer.name, value)
    return specs


def as_spec(op: str, name: str, value: Any) -> TensorSpec:
    """Return the description of a tensor, or raise when it is none."""
    if isinstance(value, TensorSpec):
        return value
    if not isinstance(value, torch.Tensor):
        raise NotATensorError(op=op, tensor=name, requirement="be a tensor", given=described(value))
    layout = unstrided(value)
    if layout is not None:
        requirement = "be a tensor with strides"
        raise NotStridedError(op=op, tensor=name, requirement=requirement, given=layout)
    return TensorSpec.of(value)


def _check_presence(op: str, decl: TensorDecl, scope: Scope, value: Any) -> None:
    expected = decl.when.evaluate(scope)
    if value is not None and not expected:
        raise UnexpectedInputError(
            op=op,
            tensor=decl.name,
            requirement=f"be left out unless {decl.when} ({decl.when.shown(scope)})",
            given=described(value),
        )
    if value is None and expected and not decl.optional.evaluate(scope):
        reads = decl.optional.shown(scope) or decl.when.shown(scope)
        requirement = f"be given with {reads}" if reads else "be given"
        raise MissingInputError(op=op, tensor=decl.name, requirement=requirement, given="None")


def _check_groups(op: str, signature: Signature, scope: Scope) -> None:
    for group in signature.together:
        absent = [name for name in group if name not in scope.given]
        if absent and len(absent) < len(group):
            given = [name for name in group if name in scope.given]
            raise IncompleteGroupError(
                op=op,
                tensor=absent[0],
                requirement=f"be given together with {all_of(given)}",
                given="None",
            )
