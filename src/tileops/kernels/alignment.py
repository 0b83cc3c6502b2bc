"""Where the data of a kernel's tensors starts, and who sees to it.

A kernel's ``forward`` may rely on data that starts at a multiple of `ALIGNMENT` bytes. Whether it
does is looked at in every call, since nothing else about a tensor tells; a function that reads
the addresses anyway looks at them itself and is marked by `any_address`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

__all__ = ["ALIGNMENT", "MISALIGNED", "aligned", "any_address", "like", "takes_any_address"]

ALIGNMENT = 16
"""Bytes that the data of a tensor starts at a multiple of."""

MISALIGNED = ALIGNMENT - 1
"""The bits that are zero in an aligned address, and in the union of several."""

F = TypeVar("F", bound=Callable[..., Any])


def aligned(tensor: torch.Tensor) -> torch.Tensor:
    """Return *tensor*, or a copy where its data is not aligned."""
    return tensor.clone() if tensor.data_ptr() & MISALIGNED else tensor


def any_address(function: F) -> F:
    """Mark a function that takes data at any address."""
    function.any_address = True  # type: ignore[attr-defined]
    return function


def takes_any_address(function: Callable[..., Any]) -> bool:
    """Whether a function is marked as taking data at any address."""
    return getattr(function, "any_address", False) is True


def like(function: Callable[..., Any], wrapper: F) -> F:
    """Return *wrapper*, marked as taking data at any address if the *function* in it does."""
    return any_address(wrapper) if takes_any_address(function) else wrapper
