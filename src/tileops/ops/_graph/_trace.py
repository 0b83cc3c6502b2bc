"""The way from a call that torch traces to its node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from tileops.errors import JitTraceError, MissingSignatureError
from tileops.manifest import BufferDecl, ParamDecl
from tileops.ops._graph._instances import checks_of
from tileops.ops._graph._mixture import check_mixture
from tileops.ops._graph._node import NODES, described, node_name
from tileops.ops._signature._arguments import check_keywords

if TYPE_CHECKING:
    from tileops.ops.op import Op

__all__ = ["as_node", "show_as_node"]


def show_as_node(call: Callable[..., Any]) -> None:
    """Let Dynamo see the node where it would trace the body of an op's ``__call__``.

    The attribute is where torch itself keeps what it traces instead of a wrapper. It costs an
    eager call nothing, where asking whether a call is being traced costs as much as a dictionary
    look-up, every time.
    """
    call._torchdynamo_inline = _traced  # type: ignore[attr-defined]


def as_node(
    op: Op, inputs: Sequence[Any], buffers: Mapping[str, Any], execution: Mapping[str, Any]
) -> Any:
    """Make a call of an op through its node, once the ordinary checks have passed.

    Raises:
        SignatureError: The call does not fit the op's signature.
        GradientThroughNodeError: An input requires a gradient.
        MappedCallError: The call is inside ``torch.func.vmap``.
        NoMemoryError: Some of the tensors are fake.
        JitTraceError: ``torch.jit.trace`` records the call.
    """
    if torch._C._get_tracing_state() is not None:
        # Sizes are tensors there, which the checks could not compare.
        raise JitTraceError(op=type(op).__name__)
    if op.checks is None:
        raise MissingSignatureError(op=type(op).__name__)
    op.checks.check(described(op.checks.signature, inputs), buffers, execution)
    names = op.identity.inputs
    padded = (*inputs, *[None] * (len(names) - len(inputs)))
    given = [name for name, one in zip(names, padded, strict=True) if one is not None]
    keywords = {**buffers, **execution}
    check_mixture(type(op).__name__, {**dict(zip(names, padded, strict=True)), **buffers})
    node = getattr(NODES, node_name(type(op), op.checks, given, list(keywords)))
    return node(padded, keywords, op.identity.params, op.identity.number)


# Dynamo traces this function in place of every ``__call__``. It has no closure and no defaults,
# which Dynamo would look for on the function that it stands in for.
def _traced(op: Any, *inputs: Any, **keywords: Any) -> Any:
    identity = op.identity
    arranged = list(inputs)
    for name in identity.inputs[len(inputs) :]:
        arranged.append(keywords.pop(name, None))
    passed = {
        name: value
        for name, value in keywords.items()
        if value is not None or name not in identity.buffers
    }
    given = tuple(one is not None for one in arranged)
    node = getattr(NODES, _node_name(type(op), identity.params, given, tuple(passed)))
    return node(arranged, passed, identity.params, identity.number)


def _node_name(
    kind: type[Op], params: str, given: tuple[bool, ...], keywords: tuple[str, ...]
) -> str:
    checks = checks_of(kind, params)
    signature = checks.signature
    if len(given) > len(signature.inputs):
        checks.check([None] * len(given))
    decls: list[ParamDecl | BufferDecl] = [*signature.buffers, *signature.execution]
    check_keywords(kind.__name__, "argument of a call", decls, dict.fromkeys(keywords))
    names = [decl.name for decl, there in zip(signature.inputs, given, strict=False) if there]
    return node_name(kind, checks, names, keywords)


# As torch.compiler.assume_constant_result marks it, which would import Dynamo here, and with it
# twice the time that importing torch takes.
_node_name._dynamo_marked_constant = True  # type: ignore[attr-defined]
