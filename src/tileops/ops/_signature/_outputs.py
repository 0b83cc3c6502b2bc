"""The last stage: the outputs a call returns, inferred, and the buffers that receive them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from tileops.errors import BufferShapeError, OutputShapeError
from tileops.manifest import ExpressionError, OutputDecl, Scope, Signature
from tileops.ops._signature._bound import Values
from tileops.ops._signature._describe import dtype_of
from tileops.ops._signature._dims import shape_of
from tileops.tensor_spec import TensorSpec


def infer_outputs(
    op: str,
    signature: Signature,
    scope: Scope,
    dtypes: Mapping[str, str],
    inputs: Values,
    *,
    device: torch.device,
) -> Values:
    """Return the description of every output the call returns, by name, in order.

    New outputs are on the call's device; an input given back is where it is.

    Raises:
        OutputShapeError: An output would have a size that is no size.
    """
    outputs = {}
    for decl in signature.outputs:
        if decl.name not in dtypes:
            continue
        if decl.alias is not None:
            outputs[decl.name] = inputs[decl.alias]
        else:
            dtype = dtype_of(dtypes[decl.name])
            outputs[decl.name] = TensorSpec(_shape(op, decl, scope), dtype, device)
    return outputs


def check_buffer_shapes(op: str, signature: Signature, buffers: Values, outputs: Values) -> None:
    """Raise BufferShapeError for the first buffer whose shape is not its output's."""
    for buffer in signature.buffers:
        spec = buffers.get(buffer.name)
        if spec is not None and spec.shape != outputs[buffer.output].shape:
            raise BufferShapeError(
                op=op,
                tensor=buffer.name,
                requirement=f"have shape {outputs[buffer.output].shape}, as {buffer.output} has",
                given=str(spec.shape),
            )


def _shape(op: str, decl: OutputDecl, scope: Scope) -> tuple[int, ...]:
    axes = decl.shape.choose(scope)
    problem = None
    try:
        sizes = shape_of(axes, scope)
    except ExpressionError as error:
        problem = error.problem
    else:
        if all(_is_size(size) for size in sizes):
            return sizes
    facts = ", ".join(axis.size.shown(scope) for axis in axes if axis.size.names)
    raise OutputShapeError(
        op=op,
        tensor=decl.name,
        requirement=f"have shape {decl.shape} with {facts}",
        given=problem or str(sizes),
    )


def _is_size(size: Any) -> bool:
    # Under torch.compile a size can be symbolic.
    return isinstance(size, int | torch.SymInt) and size >= 0
