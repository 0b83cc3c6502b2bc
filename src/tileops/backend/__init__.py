"""Everything a backend in another package imports.

A backend adds implementations to kernel interfaces (`register_kernel_type`) or replaces whole
ops (`register_detector` and `register_kernel_builder`). Registration happens when its module is
imported, through an entry point of the group ``tileops.backends``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.backend._registration import (
    BUILTIN,
    BuilderRegistration,
    DetectorRegistration,
    FactsRegistration,
    KernelRegistration,
    LoadedBackend,
    LoadFailure,
)
from tileops.backend._registry import REGISTRY, Registry
from tileops.backend._target import TargetChoice, check_named_target, choose_target
from tileops.call_spec import CallSpec, Range
from tileops.device import DeviceFacts
from tileops.errors import (
    AmbiguousTargetError,
    BackendError,
    OpNotAvailableError,
    UnknownTargetError,
)
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Entry, Kernel
from tileops.tensor_spec import TensorSpec

__all__ = [
    "BUILTIN",
    "REGISTRY",
    "AmbiguousTargetError",
    "BackendError",
    "BuilderRegistration",
    "CallSpec",
    "DetectorRegistration",
    "DeviceFacts",
    "Entry",
    "FactsRegistration",
    "Kernel",
    "KernelInterface",
    "KernelRegistration",
    "LoadFailure",
    "LoadedBackend",
    "OpNotAvailableError",
    "Range",
    "Registry",
    "TargetChoice",
    "TensorSpec",
    "UnknownTargetError",
    "check_named_target",
    "choose_target",
    "load_failures",
    "register_detector",
    "register_device_facts",
    "register_kernel_builder",
    "register_kernel_type",
    "registered_targets",
    "set_default_target",
]


def register_kernel_type(op: str, key: str, kernel_type: type[Kernel]) -> None:
    """Add an implementation to an op, for every instance constructed from now on.

    Args:
        op: The op's class name.
        key: The name of the new implementation, in snake_case.
        kernel_type: A class that subclasses `Kernel` and one of the op's kernel interfaces;
            constructing the op checks it.

    Raises:
        BackendError: There is no such op, the key is registered already (both claimants are
            named), or *kernel_type* is not a class.
    """
    REGISTRY.register_kernel_type(op, key, kernel_type)


def register_detector(target: str, detect: Callable[[torch.device], bool]) -> None:
    """Let a target claim devices.

    Args:
        target: The target's name.
        detect: Returns whether a device is the target's own. It is asked on the first call of
            every op that names no target, and must not assume that CUDA exists.

    Raises:
        BackendError: The target has a detector already, or an argument is of the wrong kind.
    """
    REGISTRY.register_detector(target, detect)


def register_kernel_builder(op: str, target: str, build_kernel: Callable[..., Any]) -> None:
    """Let a target serve every call of an op.

    Args:
        op: The op's class name.
        target: The target's name.
        build_kernel: Called with a ``TensorSpec`` per input in the order of the op's signature
            (None for an optional input that is not passed) and the op's parameters as keywords;
            returns a callable that takes the input tensors in the same order, and output buffers
            and execution arguments as keywords. The callable may define ``request_tune()`` and
            ``config``, which mean what they mean on a `Kernel`.

    Raises:
        BackendError: There is no such op, the target has a builder for it already, or an
            argument is of the wrong kind.
    """
    REGISTRY.register_kernel_builder(op, target, build_kernel)


def register_device_facts(device_type: str, reader: Callable[[torch.device], DeviceFacts]) -> None:
    """Say how the facts of a device type other than CUDA are read.

    Args:
        device_type: The type, as in ``torch.device(...).type``.
        reader: Returns the `DeviceFacts` of one device; called once per device.

    Raises:
        BackendError: The type is ``cuda`` or has a reader already.
    """
    REGISTRY.register_device_facts(device_type, reader)


def set_default_target(target: str | None) -> None:
    """Set the target of every op that is given none; None leaves it to the detectors again.

    Ops that have fixed their target keep it.

    Raises:
        BackendError: *target* is neither a name nor None.
    """
    REGISTRY.set_default_target(target)


def load_failures() -> tuple[LoadFailure, ...]:
    """Load the installed backends if that has not happened yet; return those that failed."""
    REGISTRY.load()
    return REGISTRY.failures


def registered_targets() -> tuple[str, ...]:
    """Load the installed backends if that has not happened yet; return every target's name."""
    REGISTRY.load()
    return REGISTRY.targets()
