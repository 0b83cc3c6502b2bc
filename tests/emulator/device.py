"""A device that is the emulator: kernel classes built for it take CPU tensors."""

from __future__ import annotations

import contextlib
import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

import tileops.kernels
from tileops import device
from tileops.device import DeviceFacts
from tileops.kernels import compile as compiling

from .program import EmulatedProgram

__all__ = ["emulated_device", "replaced"]


class _OnCpu(TorchFunctionMode):
    """Allocates on the CPU what asks for CUDA."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if str(kwargs.get("device")).startswith("cuda"):
            kwargs["device"] = "cpu"
        return function(*args, **kwargs)


@contextlib.contextmanager
def emulated_device(
    arch: int, sm_count: int = 8, *, race: bool = False, **options: Any
) -> Iterator[DeviceFacts]:
    """Make kernel classes run on the CPU, as if on a device of this architecture.

    Within it a kernel class is built and bound as on a GPU, and takes CPU tensors; afterwards all
    is as before.

    Args:
        arch: The architecture, as 90.
        sm_count: Multiprocessors; few keep persistent grids small.
        race: Whether accesses to shared memory that nothing orders are errors.
        options: See `Options`.

    Yields:
        The facts of the device.
    """
    board = device.first_board_of(arch)
    assert board is not None, f"the catalogue has no board of architecture {arch}"
    facts = DeviceFacts(arch, sm_count, board.facts.smem_budget)

    def bare_function(
        program: Any, arch: int, passes: Mapping[str, Any] = MappingProxyType({})
    ) -> Callable[..., None]:
        # A kernel may build programs that a test never launches.
        made = functools.cache(lambda: EmulatedProgram(program, arch, passes, race))
        return lambda *arguments: made()(*arguments, **options)

    # What kernels keep for a stream stays theirs: no real device has this index.
    stream = SimpleNamespace(
        cuda_stream=0, device_index=-1, device=torch.device("cpu"), synchronize=lambda: None
    )
    with pytest.MonkeyPatch.context() as patch, _OnCpu():
        patch.setattr(torch.cuda, "current_device", lambda: 0)
        patch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
        patch.setattr(torch.cuda, "current_stream", lambda device=None: stream)
        patch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
        replaced(patch, compiling.bare_function, bare_function)
        replaced(patch, device.current_facts, lambda: facts)
        replaced(patch, device.current_device, lambda: torch.device("cpu"))
        replaced(patch, device.allocated_apart, lambda make: make())
        yield facts


def replaced(patch: pytest.MonkeyPatch, old: Any, new: Any) -> None:
    """Replace a function in every module of the package that has it."""
    # A module that is imported later would keep the new one.
    for one in pkgutil.walk_packages(tileops.kernels.__path__, "tileops.kernels."):
        importlib.import_module(one.name)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "tileops":
            for attribute, value in list(vars(module).items()):
                if value is old:
                    patch.setattr(module, attribute, new)
