"""Calls that write into tensors of the caller: what they may not overlap, and what torch is told.

A kernel writes through addresses. So torch does not see the write, which it must know of where a
backward still needs what was there, and does not notice that a buffer lies on an input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.autograd.graph import increment_version

from tileops.errors import BufferOverlapError
from tileops.ops._plan import Run
from tileops.ops._signature import BoundCall

__all__ = ["writing"]

Pair = tuple[str, int, int, str, int]
"""A buffer's keyword and bytes, an input's place, name and bytes."""


def writing(
    call: BoundCall, run: Run, inputs: Sequence[Any], buffers: Mapping[str, torch.Tensor]
) -> Run:
    """Return *run*, which takes the tensors as passed, as calls like this one make it.

    Args:
        call: The call.
        run: Runs calls like it.
        inputs: The inputs of the call.
        buffers: Its buffers by keyword.

    Raises:
        BufferOverlapError: Several elements of a buffer lie in one place; by the calls, an input
            lies in a buffer.
    """
    if not call.written and not buffers:
        return run
    places = [
        place
        for place, (name, one) in enumerate(zip(call.inputs, inputs, strict=False))
        if name in call.written and one is not None and not one.is_inference()
    ]
    keywords = [name for name, one in buffers.items() if not one.is_inference()]
    for keyword, buffer in buffers.items():
        _check_itself(call.op, keyword, buffer)
    pairs = _pairs(call, inputs, buffers)

    def run_and_note(*inputs: Any, **given: Any) -> Any:
        for keyword, size, place, name, length in pairs:
            start, other = given[keyword].data_ptr(), inputs[place].data_ptr()
            if start < other + length and other < start + size:
                raise BufferOverlapError(
                    op=call.op,
                    tensor=keyword,
                    requirement="share no memory with an input",
                    given=f"a tensor in the memory of {name}",
                )
        results = run(*inputs, **given)
        written = [inputs[place] for place in places]
        increment_version([*written, *[given[keyword] for keyword in keywords]])
        return results

    return run_and_note


def _check_itself(op: str, keyword: str, buffer: torch.Tensor) -> None:
    strides = zip(buffer.shape, buffer.stride(), strict=True)
    if buffer.numel() and any(size > 1 and stride == 0 for size, stride in strides):
        raise BufferOverlapError(
            op=op,
            tensor=keyword,
            requirement="hold every element in a place of its own",
            given=f"shape {tuple(buffer.shape)} with strides {buffer.stride()}",
        )


def _pairs(
    call: BoundCall, inputs: Sequence[Any], buffers: Mapping[str, torch.Tensor]
) -> list[Pair]:
    """Return the pairs that can be told by where they begin: both are dense."""
    return [
        (keyword, buffer.nbytes, place, name, one.nbytes)
        for keyword, buffer in buffers.items()
        if buffer.is_contiguous()
        for place, (name, one) in enumerate(zip(call.inputs, inputs, strict=False))
        if one is not None and one.device == buffer.device and one.is_contiguous() and one.numel()
    ]
