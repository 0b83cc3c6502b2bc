"""Whether tensors have memory that a kernel can be given the address of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tileops.errors import NoMemoryError
from tileops.ops._signature import BoundCall
from tileops.ops._signature._wrappers import wrapper

__all__ = ["check_memory"]


def check_memory(
    op: str, call: BoundCall, inputs: Sequence[Any], buffers: Mapping[str, Any]
) -> None:
    """Check that every tensor of a call, and every output, has memory of its own.

    Raises:
        NoMemoryError: A tensor is fake or wraps another one, its storage was freed, or whatever
            the call allocates would be fake.
    """
    fake: Any = torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE)
    if fake is not None:
        raise NoMemoryError(op=op, tensor="every tensor allocated now", what="fake")
    tensors = [*zip(call.inputs, inputs, strict=False), *buffers.items()]
    for name, tensor in tensors:
        if tensor is None:
            continue
        what = wrapper(tensor)
        # A vendor's tensors need not have addresses.
        addressed = what is None and tensor.device.type in ("cpu", "cuda")
        if addressed and tensor.numel() and not tensor.data_ptr():
            what = "a tensor whose storage was freed"
        if what is not None:
            raise NoMemoryError(op=op, tensor=name, what=what)
