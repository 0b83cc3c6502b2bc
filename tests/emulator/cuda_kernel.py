"""Kernels written in CUDA, without a program around them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from .arguments import Argument
from .guard import Guard
from .launch import Launch, Options, start
from .module import build
from .tensor_map import TensorMap

__all__ = ["run_cuda"]


def run_cuda(
    source: str,
    arch: int,
    arguments: Sequence[Any],
    grid: int | Sequence[int],
    block: int | Sequence[int],
    *,
    cluster: int | Sequence[int] = 1,
    shared: int = 0,
    race: bool = False,
    **options: Any,
) -> None:
    """Compile CUDA *source* and run its kernel ``kernel``, which writes its results in place.

    Args:
        source: CUDA C++; the kernel is ``extern "C"``.
        arch: The architecture, as 90.
        arguments: Tensors or arrays, which the kernel gets as pointers, or `tensor_map` results.
        grid, block, cluster: Up to three sizes each.
        shared: Bytes of dynamic shared memory.
        race: Whether accesses to shared memory that nothing orders are errors.
        options: See `Options`.

    Raises:
        KernelFaultError: The kernel hangs, or does what it must not.
    """
    how = Options(**options)
    module = build(source, arch, ["kernel"], race)
    maps = {id(one): Argument(one.tensor) for one in arguments if isinstance(one, TensorMap)}
    tensors = [None if isinstance(one, TensorMap) else Argument(one) for one in arguments]
    guard = Guard([*filter(None, tensors), *maps.values()], how.guard)
    buffers: list[Any] = []
    for given, tensor in zip(arguments, tensors, strict=True):
        if tensor is None:
            given.describe(maps[id(given)])
        buffers.append(given if tensor is None else ctypes.c_uint64(tensor.at))
    sizes = [
        [*([one] if isinstance(one, int) else one), 1, 1][:3] for one in (grid, block, cluster)
    ]
    try:
        start(module, Launch("kernel", *sizes, shared, buffers), how, guard)
    finally:
        guard.close()
