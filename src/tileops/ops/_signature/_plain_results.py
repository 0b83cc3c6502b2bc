"""Results that are plainly right, told quickly; all others are left to the full checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tileops.ops._signature._bound import BoundCall
from tileops.ops._signature._results import in_order


def plain_results(
    call: BoundCall, shapes: Sequence[Sequence[int]], results: Any, inputs: Sequence[Any]
) -> tuple[torch.Tensor, ...] | None:
    """Return the outputs in order where the results are new tensors as the signature wants them.

    Args:
        call: A call that differs from this one in sizes alone.
        shapes: The shape of every new output of this one.
        results: What the implementation returned.
        inputs: The inputs of this one.
    """
    if call.buffers:
        return None
    specs = call.new
    several = isinstance(results, tuple | list)
    tensors = results if several else (results,)
    if len(tensors) != len(specs) or (len(specs) == 1) is several:
        return None
    taken = {one.untyped_storage().data_ptr() for one in inputs if one is not None}
    for tensor, spec, shape in zip(tensors, specs.values(), shapes, strict=True):
        if (
            # A subclass may wrap another tensor.
            type(tensor) is not torch.Tensor
            or tensor.layout is not torch.strided
            or tensor.is_nested
            or tensor.shape != shape
            or tensor.dtype != spec.dtype
            or tensor.device != call.device
            or tensor.requires_grad
            or not tensor.is_contiguous()
        ):
            return None
        address = tensor.untyped_storage().data_ptr()
        if address in taken:
            return None
        taken.add(address)
    if not call.aliases:
        return tuple(tensors)
    return in_order(call, dict(zip(specs, tensors, strict=True)), inputs)
