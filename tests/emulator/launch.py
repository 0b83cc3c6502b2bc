"""A launch of a compiled kernel, and the ways to run it."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import KernelFaultError
from .guard import Guard
from .module import Module
from .runtime_library import runtime

__all__ = ["Launch", "Options", "start"]

_Triple = ctypes.c_uint32 * 3
_MOST_THREADS = 1024


class _Packed(ctypes.Structure):
    """The runtime's struct Launch."""

    _fields_ = [
        ("grid", _Triple),
        ("block", _Triple),
        ("cluster", _Triple),
        ("dynamic", ctypes.c_uint64),
        ("late", ctypes.c_uint32),
        ("resident", ctypes.c_uint32),
        ("seed", ctypes.c_int64),
        ("timeout", ctypes.c_uint32),
        ("text_low", ctypes.c_uint64),
        ("text_high", ctypes.c_uint64),
        ("race", ctypes.c_uint32),
        ("kernel_low", ctypes.c_uint64),
        ("kernel_high", ctypes.c_uint64),
    ]


@dataclass(frozen=True)
class Options:
    """How kernels are run.

    Attributes:
        late: Whether asynchronous copies land as late as they may.
        seed: Of a random order of threads; None runs each until it waits, in order.
        guard: Whether tensors are copied to where an overrun is an error.
        resident: Clusters that may run at once, where one waits for another.
        timeout: Seconds that a launch may take.
    """

    late: bool = False
    seed: int | None = None
    guard: bool = True
    resident: int = 64
    timeout: int = 600


@dataclass(frozen=True)
class Launch:
    """What is launched.

    Attributes:
        name: The kernel's.
        grid, block, cluster: Three sizes each.
        shared: Bytes of dynamic shared memory.
        buffers: The arguments, as ctypes values or as objects with an ``address``.
    """

    name: str
    grid: Sequence[int]
    block: Sequence[int]
    cluster: Sequence[int]
    shared: int
    buffers: Sequence[Any] = field(repr=False)


def start(module: Module, launch: Launch, options: Options, guard: Guard) -> None:
    """Run a kernel to its end.

    Args:
        module: What it is compiled to.
        launch: Its name, sizes and arguments.
        options: How to run it.
        guard: Where its tensors are, to say what an address belongs to.

    Raises:
        KernelFaultError: It hangs, or does what it must not.
    """
    if any(n % c for n, c in zip(launch.grid, launch.cluster, strict=True)):
        problem = f"grid {launch.grid} is no multiple of cluster {launch.cluster}"
        raise KernelFaultError(launch.name, problem)
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    if not 0 < threads <= _MOST_THREADS:
        raise KernelFaultError(launch.name, f"{threads} threads in a block")
    at = [getattr(one, "address", None) or ctypes.addressof(one) for one in launch.buffers]
    pointers = (ctypes.c_void_p * max(1, len(at)))(*at)
    packed = ctypes.byref(_packed(module, launch, options))
    message = runtime().emu_launch(module.entries[launch.name], pointers, packed)
    if message:
        raise KernelFaultError(launch.name, _told(message.decode(errors="replace"), module, guard))


def _packed(module: Module, launch: Launch, options: Options) -> _Packed:
    return _Packed(
        _Triple(*launch.grid),
        _Triple(*launch.block),
        _Triple(*launch.cluster),
        launch.shared,
        options.late,
        options.resident,
        -1 if options.seed is None else options.seed,
        options.timeout,
        *module.text_range(),
        module.granularity,
        *module.function_range(launch.name),
    )


def _told(message: str, module: Module, guard: Guard) -> str:
    touched = re.search(r"global memory at (0x[0-9a-f]+)", message)
    owner = guard.describe(int(touched[1], 16)) if touched else ""
    if touched and owner:
        message = message.replace(touched[0], f"{touched[0]}, {owner}")
    return module.located(message)
