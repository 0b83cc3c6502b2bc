"""What a backend registers or does wrong, and choosing its target."""

from __future__ import annotations

from tileops.errors._call import OpNotAvailableError
from tileops.errors._root import TileopsError


class BackendError(TileopsError, ValueError):
    """A backend registers something wrong, or one of its functions fails.

    Cause:
        A function of ``tileops.backend`` was given a wrong name or value, a name is registered
        already, or a detector raised.

    Remedy:
        Correct what the message names in the backend, or uninstall one of two that claim the
        same name.
    """

    template = "{what}: {problem}"


class DeviceFactsError(BackendError):
    """The facts of a device cannot be registered or read.

    Cause:
        The type has a reader already, a reader raised or returned something else, or there is
        no such device.

    Remedy:
        Correct the reader; for CUDA, ask about a device that this machine has.
    """

    template = "device facts of {device}: {problem}"


class UnknownTargetError(BackendError):
    """A target is named that no backend has registered.

    Cause:
        The name is misspelt, or the package that registers it is not installed or failed to
        load.

    Remedy:
        Install or import the backend; ``tileops doctor`` shows what failed to load, and why.
    """

    template = (
        "{op}: target {target!r} ({source}) is not registered; registered targets: {targets}. "
        "Install or import the backend that registers it{failures}"
    )


class AmbiguousTargetError(BackendError):
    """Several targets claim the device of a call.

    Cause:
        The detectors of two installed backends claim one device.

    Remedy:
        Pass ``target=`` to the op, or call ``tileops.backend.set_default_target``.
    """

    template = (
        "{op}: targets {targets} all claim {device}. Name one with target=, or set one with "
        "tileops.backend.set_default_target"
    )


class TargetWithoutBuilderError(OpNotAvailableError):
    """The selected target has registered no builder for the op.

    Cause:
        The target was chosen for the op, and its backend does not serve that op.

    Remedy:
        Choose a target that the message lists, or ``tileops.backend.BUILTIN``.
    """

    template = (
        "{op}: target {target!r} ({source}) has registered no builder for this op; targets that "
        "have one: {targets}. Choose one of them, or target=tileops.backend.BUILTIN for the "
        "in-tree kernels"
    )


class TargetKernelError(BackendError):
    """A target's builder returned something that cannot be called.

    Cause:
        The builder returned None, a result or another object.

    Remedy:
        Return the callable that takes the op's inputs.
    """

    template = (
        "{op}: the builder of target {target!r} returned {value} for this call; return the kernel, "
        "a callable that takes the op's inputs"
    )
