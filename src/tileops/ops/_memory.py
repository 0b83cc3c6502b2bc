"""Whether tensors have memory that a kernel can be given the address of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tileops.errors import NoMemoryError
from tileops.ops._signature import BoundCall

__all__ = ["check_memory"]

_DispatchKey: Any = torch._C.DispatchKey

_WRAPPERS: Mapping[str, Any] = {
    "a wrapper that traces or distributes another tensor": _DispatchKey.Python,
    "wrapped by torch.vmap": _DispatchKey.FuncTorchBatched,
    "wrapped by a transformation of torch.func": _DispatchKey.FuncTorchGradWrapper,
    "wrapped by functionalization": _DispatchKey.Functionalize,
}
"""What a tensor without memory of its own is, by the dispatch key that tells."""


def check_memory(
    op: str, call: BoundCall, inputs: Sequence[Any], buffers: Mapping[str, Any]
) -> None:
    """Check that every tensor of a call, and every output, has memory of its own.

    Raises:
        NoMemoryError: A tensor is fake or wraps another one, or whatever the call allocates would
            be fake.
    """
    fake: Any = torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE)
    if fake is not None:
        raise NoMemoryError(op=op, tensor="every tensor allocated now", what="fake")
    tensors = [*zip(call.inputs, inputs, strict=False), *buffers.items()]
    for name, tensor in tensors:
        if tensor is None:
            continue
        keys = torch._C._dispatch_keys(tensor)
        for what, key in _WRAPPERS.items():
            if keys.has(key):
                raise NoMemoryError(op=op, tensor=name, what=f"{type(tensor).__name__}, {what}")
