"""Kernel: what every implementation says of itself before it is built, and does once it is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import Any

from tileops.call_spec import CallSpec

__all__ = ["Entry", "Kernel"]

Entry = tuple[Hashable, Callable[[], "Kernel"]]
"""A build identity and the factory that builds the kernel for it."""


class Kernel:
    """An implementation, once it also subclasses a `KernelInterface`.

    The class says which calls it serves; an instance is the built kernel.

    Attributes:
        devices: The device types it runs on.
        supported_archs: The architectures it runs on, exactly; None for every architecture.
        general: Whether it ranks below every other implementation of its interface.
        preferred_over: The keys it outranks where both apply.
        config: The configuration in use, or None for a kernel without tuning candidates.
    """

    devices: frozenset[str] = frozenset({"cuda"})
    supported_archs: Collection[int] | None = None
    general: bool = False
    preferred_over: frozenset[str] = frozenset()

    config: Any = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Bind to the class's own ``forward`` where it inherits a ``bind`` of another one's."""
        super().__init_subclass__(**keywords)
        if "forward" in cls.__dict__ and "bind" not in cls.__dict__:
            cls.bind = Kernel.bind  # type: ignore[method-assign]

    def __init__(self, call: CallSpec | None = None) -> None:
        """Build for *call*; a subclass takes what its own ``entry_for`` passes."""

    @classmethod
    def refusal(cls, call: Any) -> str | None:
        """Return why this implementation does not serve *call*, or None when it does."""
        return None

    @classmethod
    def entry_for(cls, call: Any) -> Entry:
        """Return what identifies the build for *call*, and a factory that builds it.

        The identity is hashable and holds every fact that changes the result of the build. The
        factory runs only the first time that identity appears on a device.
        """
        return call, lambda: cls(call)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run the kernel on the arguments of its interface."""
        forward: Callable[..., Any] = self.forward  # type: ignore[attr-defined]
        return forward(*args, **keywords)

    def bind(self, *args: Any) -> Callable[..., Any]:
        """Return the function that runs calls whose arguments are like *args*.

        Like means the same presence, type, dtype, device, shape and strides; the data is another.
        One of *args* that is not dense is copied by every call, and has the strides of a new
        tensor when it reaches the function.
        A kernel that computes something from shapes alone overrides it and computes that once; a
        subclass with a ``forward`` of its own inherits none of that.
        The function may not keep *args*. One that reads the addresses of all its tensors anyway
        takes them at any address; see `tileops.kernels.alignment`.
        """
        forward: Callable[..., Any] = self.forward  # type: ignore[attr-defined]
        return forward

    def request_tune(self) -> None:
        """Tune before the next launch; a kernel without tuning candidates does nothing."""
