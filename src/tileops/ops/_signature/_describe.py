"""How values, dtypes and lists of names are written in messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from tileops.errors.wording import shown
from tileops.tensor_spec import TensorSpec


def dtype_name(dtype: torch.dtype) -> str:
    """Return torch's name of a dtype, as the manifest writes it."""
    return str(dtype).removeprefix("torch.")


def dtype_of(name: str) -> torch.dtype:
    """Return the dtype that the manifest writes by this name."""
    dtype: torch.dtype = getattr(torch, name)
    return dtype


def manifest_value(value: Any) -> Any:
    """Return a parameter's value as the manifest writes it: a dtype by its name."""
    return dtype_name(value) if isinstance(value, torch.dtype) else value


def described(value: Any) -> str:
    """Return a value in a few words: a tensor by dtype, shape and device, others by type."""
    if value is None:
        return "None"
    if isinstance(value, torch.Tensor) and value.is_nested:
        return f"a nested tensor {dtype_name(value.dtype)} on {value.device}"
    if isinstance(value, torch.Tensor | TensorSpec):
        return f"a tensor {dtype_name(value.dtype)}{list(value.shape)} on {value.device}"
    text = shown(value)
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    return f"{text} ({kind})" if len(text) <= 60 else kind


def one_of(names: Iterable[str]) -> str:
    """Return ``a``, ``a or b``, ``a, b or c``."""
    *front, last = names
    return f"{', '.join(front)} or {last}" if front else last


def all_of(names: Iterable[str]) -> str:
    """Return ``a``, ``a and b``, ``a, b and c``."""
    *front, last = names
    return f"{', '.join(front)} and {last}" if front else last
