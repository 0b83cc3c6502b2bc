"""The kernels an op has built: found by call spec, built once per build identity and device."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

import torch

from tileops.call_spec import CallSpec
from tileops.errors import BuildIdentityError, BuiltValueError, EntryShapeError, FactoryError
from tileops.errors.wording import shown
from tileops.kernels.kernel import Kernel
from tileops.ops._bounded import Bounded
from tileops.ops._build_errors import naming
from tileops.ops._build_once import BuildOnce

__all__ = ["BuiltKernel", "EntryCache"]

CALLS = 1024
"""Call specs whose kernel an op keeps at hand at least, the last used ones."""

Identity = tuple[str, type[Kernel], Hashable, torch.device | None]


@dataclass(frozen=True)
class BuiltKernel:
    """A kernel that an op has built.

    Attributes:
        interface: The interface's key in the op.
        identity: The build identity that the class stated.
        device: The device it was built for.
        kernel: The kernel.
    """

    interface: str
    identity: Hashable
    device: torch.device | None
    kernel: Kernel


class EntryCache:
    """Built kernels in two levels: by call spec, and by (interface, class, identity, device).

    The first level is bounded. The second is not: an identity holds only what changes the build,
    and programs take the sizes that vary from call to call as arguments, so there are as many as
    there are compiled programs. Forgetting one would cost seconds at its next call.
    """

    def __init__(self) -> None:
        self._by_call: Bounded[tuple[str, CallSpec], Kernel] = Bounded(CALLS)
        self._built: BuildOnce[Identity, Kernel] = BuildOnce()

    def find(self, interface: str, call: CallSpec) -> Kernel | None:
        """Return the kernel of a call that was served before, or None."""
        try:
            return self._by_call.get((interface, call))
        except Exception:
            # A fact that cannot be hashed or compared: no such call was served.
            return None

    def entry(
        self, op: str, interface: str, key: str, kernel_type: type[Kernel], call: CallSpec
    ) -> Kernel:
        """Return the kernel of *kernel_type* for *call*, building it on the call's device.

        What a factory raises reaches the caller with a note that names op, key and identity.

        Raises:
            KernelCompileError: A compiler refuses the kernel's program.
            CompileCacheError: The kernel's program cannot be kept on disk.
            EntryShapeError: ``entry_for`` returned no pair.
            BuildIdentityError: Its build identity cannot be hashed.
            FactoryError: Its factory cannot be called.
            BuiltValueError: Its factory built no kernel.
        """
        identity, factory = _checked_entry(op, kernel_type, call)
        place = (interface, kernel_type, identity, call.device)
        kernel = self._built.found(place)
        if kernel is None:
            build = _checked_factory(op, kernel_type, factory)
            with naming(op, key, kernel_type, call.device, identity):
                kernel = self._built.get(place, call.device, build)
        self._by_call[interface, call] = kernel
        return kernel

    def tune(self) -> None:
        """Tune every kernel built so far, and every later one before its first launch."""
        self._built.tune()

    @property
    def tuned(self) -> bool:
        """Whether tuning has been asked for."""
        return self._built.tuning

    def __iter__(self) -> Iterator[BuiltKernel]:
        for (interface, _, identity, device), kernel in self._built.items():
            yield BuiltKernel(interface, identity, device, kernel)


def _checked_factory(
    op: str, kernel_type: type[Kernel], factory: Callable[[], Kernel]
) -> Callable[[], Kernel]:
    def build() -> Kernel:
        kernel: object = factory()
        if not isinstance(kernel, Kernel):
            raise BuiltValueError(
                op=op, implementation=kernel_type.__qualname__, value=shown(kernel)
            )
        return kernel

    return build


def _checked_entry(
    op: str, kernel_type: type[Kernel], call: CallSpec
) -> tuple[Hashable, Callable[[], Kernel]]:
    entry: object = kernel_type.entry_for(call)
    common = {"op": op, "implementation": kernel_type.__qualname__}
    if not isinstance(entry, tuple) or len(entry) != 2:
        raise EntryShapeError(**common, value=shown(entry))
    identity, factory = entry
    try:
        hash(identity)
    except Exception as error:
        raise BuildIdentityError(**common, value=shown(identity)) from error
    if not callable(factory):
        raise FactoryError(**common, value=shown(factory))
    return identity, factory
