"""The outputs of a call: those an implementation returned, checked, or empty ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tileops.errors import (
    AliasingError,
    ResultCountError,
    ResultDeviceError,
    ResultDtypeError,
    ResultGradientError,
    ResultNotContiguousError,
    ResultNotStridedError,
    ResultShapeError,
    ResultTypeError,
    ResultWithoutMemoryError,
)
from tileops.ops._signature._bound import BoundCall
from tileops.ops._signature._describe import described, dtype_name
from tileops.ops._signature._wrappers import unstrided, wrapper
from tileops.tensor_spec import TensorSpec

_NONE: Mapping[str, Any] = {}


def check_results(
    call: BoundCall,
    results: Any,
    inputs: Sequence[torch.Tensor | None],
    buffers: Mapping[str, torch.Tensor | None] = _NONE,
    *,
    source: str,
    recorded: bool = False,
) -> tuple[torch.Tensor, ...]:
    """Return the outputs of a call in order, once what an implementation returned is checked.

    An output that is an input given back is added here; the implementation does not return it.

    Args:
        call: The call.
        results: What the implementation returned: a tensor for one output, a tuple or a list for
            several, None for none.
        inputs: The inputs of the call as the implementation got them.
        buffers: The output buffers of the call by keyword.
        source: The implementation in words, for messages.
        recorded: Whether the results may carry a gradient that the implementation recorded.

    Raises:
        ResultError: The subclass of the first condition violated: number; layout, shape, dtype,
            device, memory of its own; aliasing; contiguity, gradient.
    """
    expected = [name for name in call.outputs if name not in call.aliases]
    tensors = dict(zip(expected, _listed(call, results, expected, source), strict=True))
    for name, tensor in tensors.items():
        _check_result(call, name, tensor, source)
    _check_memory(call, tensors, inputs, buffers, source)
    for name, tensor in tensors.items():
        if name not in call.buffers:
            _check_new(call, name, tensor, source, recorded=recorded)
    return in_order(call, tensors, inputs)


def empty_outputs(
    call: BoundCall,
    inputs: Sequence[torch.Tensor | None],
    buffers: Mapping[str, torch.Tensor | None] = _NONE,
) -> tuple[torch.Tensor, ...]:
    """Return outputs with the shapes and dtypes inferred, as ``torch.empty`` makes them.

    A buffer given, or an input given back, is itself the output.
    """
    tensors = {}
    for name, spec in call.outputs.items():
        buffer = buffers.get(call.buffers[name]) if name in call.buffers else None
        if name not in call.aliases:
            tensors[name] = (
                torch.empty(spec.shape, dtype=spec.dtype, device=spec.device)
                if buffer is None
                else buffer
            )
    return in_order(call, tensors, inputs)


def in_order(
    call: BoundCall, tensors: Mapping[str, torch.Tensor], inputs: Sequence[torch.Tensor | None]
) -> tuple[torch.Tensor, ...]:
    """Return the outputs of a call in order, given the new ones by name."""
    given = dict(zip(call.inputs, inputs, strict=False))
    found = [tensors.get(name, given.get(call.aliases.get(name, ""))) for name in call.outputs]
    return tuple(tensor for tensor in found if tensor is not None)


def _listed(call: BoundCall, results: Any, expected: Sequence[str], source: str) -> list[Any]:
    several = isinstance(results, tuple | list)
    listed = list(results) if several else [] if results is None else [results]
    if len(listed) != len(expected) or several != (len(expected) > 1):
        wanted = {0: "None", 1: f"one tensor ({', '.join(expected)})"}.get(
            len(expected), f"{len(expected)} tensors ({', '.join(expected)})"
        )
        given = f"a {type(results).__name__} of {len(listed)}" if several else described(results)
        raise ResultCountError(
            op=call.op, source=source, tensor="results", requirement=wanted, given=given
        )
    return listed


def _check_result(call: BoundCall, name: str, tensor: Any, source: str) -> None:
    spec = call.outputs[name]
    about = {"op": call.op, "source": source, "tensor": name}
    if not isinstance(tensor, torch.Tensor):
        raise ResultTypeError(**about, requirement="be a tensor", given=described(tensor))
    layout = unstrided(tensor)
    if layout is not None:
        requirement = "be a tensor with strides"
        raise ResultNotStridedError(**about, requirement=requirement, given=layout)
    shape = tuple(tensor.shape)
    if shape != spec.shape:
        raise ResultShapeError(**about, requirement=f"have shape {spec.shape}", given=str(shape))
    if tensor.dtype != spec.dtype:
        requirement = f"have dtype {dtype_name(spec.dtype)}"
        raise ResultDtypeError(**about, requirement=requirement, given=dtype_name(tensor.dtype))
    if tensor.device != call.device:
        requirement = f"be on {call.device}"
        raise ResultDeviceError(**about, requirement=requirement, given=str(tensor.device))
    what = wrapper(tensor)
    if what is not None:
        requirement = "have memory of its own"
        raise ResultWithoutMemoryError(**about, requirement=requirement, given=what)


def _check_new(
    call: BoundCall, name: str, tensor: torch.Tensor, source: str, *, recorded: bool
) -> None:
    about = {"op": call.op, "source": source, "tensor": name}
    lazy = tensor.is_neg() or tensor.is_conj()
    if lazy or not tensor.is_contiguous():
        given = f"shape {tuple(tensor.shape)} with strides {tensor.stride()}"
        raise ResultNotContiguousError(
            **about,
            requirement="be contiguous",
            given="a view that negates or conjugates when it is read" if lazy else given,
        )
    if tensor.requires_grad and not recorded:
        requirement = "require no gradient, since the op says what its backward is"
        raise ResultGradientError(**about, requirement=requirement, given="one that requires it")


def _check_memory(
    call: BoundCall,
    tensors: Mapping[str, torch.Tensor],
    inputs: Sequence[torch.Tensor | None],
    buffers: Mapping[str, torch.Tensor | None],
    source: str,
) -> None:
    taken = {
        _storage(tensor): name
        for name, tensor in zip(call.inputs, inputs, strict=False)
        if tensor is not None and tensor.numel()
    }
    for name, tensor in tensors.items():
        about = {"op": call.op, "source": source, "tensor": name}
        keyword = call.buffers.get(name)
        buffer = buffers.get(keyword) if keyword else None
        if buffer is not None and not _same(tensor, buffer):
            requirement = f"be the buffer passed as {keyword}"
            raise AliasingError(**about, requirement=requirement, given="another tensor")
        if tensor.numel() and buffer is None and _storage(tensor) in taken:
            other = taken[_storage(tensor)]
            raise AliasingError(
                **about, requirement="be a new tensor", given=f"one in the memory of {other}"
            )
        if tensor.numel():
            taken.setdefault(_storage(tensor), name)


def _storage(tensor: torch.Tensor) -> tuple[torch.device, int]:
    return tensor.device, tensor.untyped_storage().data_ptr()


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return TensorSpec.of(one) == TensorSpec.of(other) and one.data_ptr() == other.data_ptr()
