"""Tensor maps: how a tensor copy finds its box in global and in shared memory."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from .arguments import Argument
from .errors import HostFunctionError
from .runtime_library import runtime

__all__ = ["TensorMap", "tensor_map"]

# CUtensorMapDataType by the names of dtypes.
_TYPES = {
    "uint8": 0,
    "int8": 0,
    "float8_e4m3fn": 0,
    "float8_e5m2": 0,
    "uint16": 1,
    "uint32": 2,
    "int32": 3,
    "float16": 6,
    "float32": 7,
    "bfloat16": 9,
}
_SIZE, _ALIGNMENT, _LONGEST_BOX = 128, 64, 256


class TensorMap:
    """Room for a tensor map, filled in before the launch.

    Attributes:
        address: Where it is.
        tensor: The tensor, where one was given with it.
    """

    def __init__(self, tensor: Any = None, box: Sequence[int] = (), swizzle: int = 0) -> None:
        self.tensor = tensor
        self._box, self._swizzle = box, swizzle
        self._buffer = ctypes.create_string_buffer(_SIZE + _ALIGNMENT)
        self.address = -(-ctypes.addressof(self._buffer) // _ALIGNMENT) * _ALIGNMENT

    def describe(self, argument: Argument) -> None:
        """Fill it in for the tensor that it was made with, where the kernel sees that."""
        strides = [one * argument.itemsize for one in reversed(argument.strides)]
        sizes = (list(reversed(argument.shape)), strides, list(reversed(self._box)))
        kind = _TYPES[argument.type_name]
        self.fill(kind, argument.at, *sizes, [1] * len(strides), (0, self._swizzle, 0))

    def fill(
        self,
        kind: int,
        base: int,
        sizes: Sequence[int],
        strides: Sequence[int],
        box: Sequence[int],
        steps: Sequence[int],
        modes: Sequence[int],
    ) -> None:
        """Fill it in, with the fastest dimension first.

        Args:
            kind: The CUtensorMapDataType.
            base: The address of the tensor.
            sizes: Elements of each dimension.
            strides: Bytes from one element to the next of each dimension.
            box: Elements of each dimension of the box.
            steps: Strides of the elements taken.
            modes: Interleave, swizzle and fill.

        Raises:
            HostFunctionError: The driver would refuse it.
        """
        if base % 16:
            raise HostFunctionError(f"tensor map: address {base:#x} is not aligned to 16 bytes")
        if any(one % 16 for one in strides[1:]):
            raise HostFunctionError(f"tensor map: strides {list(strides)} are no multiples of 16")
        if not all(0 < one <= _LONGEST_BOX for one in box):
            raise HostFunctionError(f"tensor map: box {list(box)} is not within 1..{_LONGEST_BOX}")
        rank = len(sizes)
        longs, words = ctypes.c_uint64 * rank, ctypes.c_uint32 * rank
        shape = (longs(*sizes), longs(*strides), words(*box), words(*steps))
        at = ctypes.c_void_p(self.address)
        runtime().emu_tensor_map(at, kind, rank, ctypes.c_uint64(base), *shape, *modes)


def tensor_map(tensor: Any, box: Sequence[int], swizzle: int = 0) -> TensorMap:
    """Return an argument of `run_cuda` for a ``CUtensorMap``.

    Args:
        tensor: A tensor or an array.
        box: Elements of each dimension of the box, the slowest first.
        swizzle: 0, 1, 2 or 3 for none, 32, 64 or 128 bytes.
    """
    return TensorMap(tensor, box, swizzle)
