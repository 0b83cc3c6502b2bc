"""The tensors that a kernel gets: where they are, and where the kernel sees them."""

from __future__ import annotations

import gc
from collections.abc import Collection, Sequence
from typing import Any

from .errors import ArgumentError

__all__ = ["Argument", "Storage", "pointed_into"]

# Codes and bits of the types that DLPack knows by names of their own.
_NAMED = {
    "bfloat16": (4, 16),
    "bool": (6, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
    "complex64": (5, 64),
}
_KINDS = {"uint": 1, "int": 0, "float": 2}


class Argument:
    """A tensor or an array.

    Attributes:
        start, size: Its own first byte, and the bytes that it spans.
        at: Where the kernel sees it.
        shape, strides: In elements.
        itemsize: Bytes of an element.
        dtype: Code and bits of its type.
        type_name: As ``float16``.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        if hasattr(value, "data_ptr"):
            if value.device.type != "cpu":
                raise ArgumentError(f"a tensor on {value.device}")
            self.start = value.data_ptr()
            self.strides: Sequence[int] = tuple(value.stride())
            self.itemsize = value.element_size()
        else:
            self.start = value.ctypes.data
            self.itemsize = value.itemsize
            self.strides = tuple(stride // value.itemsize for stride in value.strides)
        self.shape: Sequence[int] = tuple(value.shape)
        self.type_name = str(value.dtype).removeprefix("torch.")
        self.dtype = _type_code(self.type_name)
        steps = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        self.size = (1 + steps) * self.itemsize if all(self.shape) else 0
        self.at = self.start


class Storage:
    """The memory of a live tensor that an integer argument points into."""

    def __init__(self, tensor: Any) -> None:
        self._kept = tensor.untyped_storage()
        self.start, self.size = self._kept.data_ptr(), self._kept.nbytes()
        self.at = self.start
        self.shape = tuple(tensor.shape)

    def moved(self, address: int) -> int:
        """Return where the kernel sees what is at *address*."""
        return address - self.start + self.at


def pointed_into(addresses: Collection[int]) -> dict[int, Storage]:
    """Return the storages of live tensors that contain *addresses*, by address."""
    import torch

    found: dict[int, Storage] = {}
    # Only the type is asked for, since an object may run code of its own when it is asked for more;
    # subclasses, such as fake tensors, may have no memory at all.
    plain = (torch.Tensor, torch.nn.Parameter)
    tensors = [one for one in gc.get_objects() if type(one) in plain]
    for tensor in tensors if addresses else ():
        if tensor.device.type == "cpu" and tensor.layout == torch.strided:
            store = tensor.untyped_storage()
            low, high = store.data_ptr(), store.data_ptr() + store.nbytes()
            inside = [one for one in addresses if one not in found and low <= one < high]
            found.update({one: Storage(tensor) for one in inside})
    return found


def _type_code(name: str) -> tuple[int, int]:
    if name in _NAMED:
        return _NAMED[name]
    for prefix, code in _KINDS.items():
        if name.startswith(prefix):
            return code, int(name.removeprefix(prefix))
    raise ArgumentError(f"a tensor of {name}")
