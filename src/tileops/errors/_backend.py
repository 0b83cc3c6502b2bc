"""What a backend registers or does wrong, and choosing its target."""

from __future__ import annotations

from tileops.errors._call import OpNotAvailableError
from tileops.errors._root import TileopsError


class BackendError(TileopsError, ValueError):
    """A backend registers something wrong, or one of its functions fails."""

    template = "{what}: {problem}"


class DeviceFactsError(BackendError):
    """The facts of a device cannot be registered or read."""

    template = "device facts of {device}: {problem}"


class UnknownTargetError(BackendError):
    """A target is named that no backend has registered."""

    template = (
        "{op}: target {target!r} ({source}) is not registered; registered targets: {targets}. "
        "Install or import the backend that registers it{failures}"
    )


class AmbiguousTargetError(BackendError):
    """Several targets claim the device of a call."""

    template = (
        "{op}: targets {targets} all claim {device}. Name one with target=, or set one with "
        "tileops.backend.set_default_target"
    )


class TargetWithoutBuilderError(OpNotAvailableError):
    """The selected target has registered no builder for the op."""

    template = (
        "{op}: target {target!r} ({source}) has registered no builder for this op; targets that "
        "have one: {targets}. Choose one of them, or target=tileops.backend.BUILTIN for the "
        "in-tree kernels"
    )


class TargetKernelError(BackendError):
    """A target's builder returned something that cannot be called."""

    template = (
        "{op}: the builder of target {target!r} returned {value} for this call; return the kernel, "
        "a callable that takes the op's inputs"
    )
