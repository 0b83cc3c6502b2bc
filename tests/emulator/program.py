"""TileLang programs on the CPU."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from .arguments import Argument, pointed_into
from .guard import Guard
from .host_function import HostFunction
from .launch import Launch, Options, start
from .module import build

__all__ = ["EmulatedProgram", "run"]

# Integers below this are sizes; those above may be addresses.
_LOWEST_ADDRESS = 1 << 20


class EmulatedProgram:
    """A program compiled for the CPU, called with the program's arguments.

    Args:
        program: A TileLang function named ``main``.
        arch: The architecture, as 90.
        passes: Options of TileLang's passes, by their names.
        race: Whether accesses to shared memory that nothing orders are errors.
        edit: Changes the CUDA source before it is compiled.

    Attributes:
        source: The CUDA source.
        launches: Those of the last call.
    """

    def __init__(
        self,
        program: Any,
        arch: int,
        passes: Mapping[str, Any] = MappingProxyType({}),
        race: bool = False,
        edit: Callable[[str], str] = lambda source: source,
    ) -> None:
        artifact = _lowered(program, arch, passes)
        self.source = edit(artifact.kernel_source)
        self.launches: list[Launch] = []
        self._parameters = artifact.params
        self._kernels = {str(k.name_hint): f for k, f in artifact.device_mod.functions.items()}
        functions = artifact.host_mod.functions.values()
        (self._host,) = [one for one in functions if hasattr(one, "params")]
        self._module = build(self.source, arch, list(self._kernels), race)

    def __call__(self, *arguments: Any, **options: Any) -> None:
        """Run the program, which writes its results in place.

        Args:
            arguments: CPU tensors, arrays, numbers. A tensor where the program takes an address
                stands for its own; an integer that is an address of a live tensor is guarded
                like the tensor.
            options: See `Options`.

        Raises:
            HostFunctionError: The program refuses its arguments.
            KernelFaultError: A kernel hangs, or does what it must not.
        """
        how = Options(**options)
        plain = (int, float, type(None))
        values = [one if isinstance(one, plain) else Argument(one) for one in arguments]
        raw = {one for one in values if type(one) is int and one >= _LOWEST_ADDRESS}
        inside = pointed_into(raw if how.guard else ())
        tensors = [one for one in values if isinstance(one, Argument)]
        guard = Guard([*tensors, *inside.values()], how.guard)
        values = [inside[x].moved(x) if type(x) is int and x in inside else x for x in values]
        for i, parameter in enumerate(self._parameters):
            scalar = len(parameter.shape) == 0 and "handle" not in str(parameter.dtype)
            if isinstance(values[i], Argument) and scalar:
                values[i] = values[i].at
        self.launches = []

        def launched(launch: Launch) -> None:
            self.launches.append(launch)
            start(self._module, launch, how, guard)

        try:
            HostFunction(self._host, self._kernels, launched).run(values)
        finally:
            guard.close()


def run(
    program: Any,
    arch: int,
    arguments: Any,
    passes: Mapping[str, Any] = MappingProxyType({}),
    *,
    race: bool = False,
    **options: Any,
) -> None:
    """Compile *program* and run it once; see `EmulatedProgram` and `Options`."""
    EmulatedProgram(program, arch, passes, race)(*arguments, **options)


def _lowered(program: Any, arch: int, passes: Mapping[str, Any]) -> Any:
    # TileLang announces every compilation on stderr unless told otherwise.
    os.environ.setdefault("TILELANG_PRINT_ON_COMPILATION", "0")
    import tilelang
    from tilelang import tvm

    name = f"sm_{arch}a" if arch == 90 else f"sm_{arch}"
    target = tvm.target.Target({"kind": "cuda", "arch": name})
    with tvm.transform.PassContext(opt_level=3, config=dict(passes)), target:
        return tilelang.lower(program, target=target, enable_device_compile=False)
