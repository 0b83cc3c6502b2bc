"""Tensors that stand for other ones, and what they are in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

_DispatchKey: Any = torch._C.DispatchKey

_WRAPPERS: Mapping[str, Any] = {
    "a wrapper that traces or distributes another tensor": _DispatchKey.Python,
    "wrapped by torch.vmap": _DispatchKey.FuncTorchBatched,
    "wrapped by a transformation of torch.func": _DispatchKey.FuncTorchGradWrapper,
    "wrapped by functionalization": _DispatchKey.Functionalize,
}
"""What a tensor without memory of its own is, by the dispatch key that tells."""


def wrapper(tensor: torch.Tensor) -> str | None:
    """Return what a tensor without memory of its own is, or None for an ordinary one."""
    keys = torch._C._dispatch_keys(tensor)
    for what, key in _WRAPPERS.items():
        if keys.has(key):
            return f"{type(tensor).__name__}, {what}"
    return None


def unstrided(tensor: torch.Tensor) -> str | None:
    """Return what a tensor without strides is, or None for one that has them."""
    if isinstance(tensor, UninitializedParameter | UninitializedBuffer):
        return "one that is not initialized"
    if tensor.layout is not torch.strided:
        return str(tensor.layout)
    return "a nested tensor" if tensor.is_nested else None
