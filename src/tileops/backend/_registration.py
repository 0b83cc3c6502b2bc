"""What a backend can register, as records that keep who registered it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from tileops.device import DeviceFacts
from tileops.kernels.kernel import Kernel
from tileops.selection import Origin

BUILTIN = "builtin"
"""The target that forces the in-tree kernels."""


@dataclass(frozen=True, kw_only=True)
class Registration:
    """Anything a backend registers.

    Attributes:
        origin: The distribution or module it comes from.
    """

    origin: Origin

    @property
    def claimant(self) -> str:
        """Who registered it, for messages."""
        if self.origin.distribution is not None:
            return self.origin.distribution
        return f"module {self.origin.module}"


@dataclass(frozen=True, kw_only=True)
class KernelRegistration(Registration):
    """An implementation added to an op under a key."""

    op: str
    key: str
    kernel_type: type[Kernel]


@dataclass(frozen=True, kw_only=True)
class DetectorRegistration(Registration):
    """A target's function that says whether a device is its own."""

    target: str
    detect: Callable[[torch.device], bool]


@dataclass(frozen=True, kw_only=True)
class BuilderRegistration(Registration):
    """A target's function that builds its kernel of one op."""

    op: str
    target: str
    build_kernel: Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class FactsRegistration(Registration):
    """A function that reads the facts of the devices of one type."""

    device_type: str
    reader: Callable[[torch.device], DeviceFacts]


@dataclass(frozen=True)
class LoadedBackend:
    """A backend that loaded.

    Attributes:
        name: The entry point's name.
        value: The module it names.
        distribution: The distribution it belongs to, with its version.
    """

    name: str
    value: str
    distribution: str | None


@dataclass(frozen=True)
class LoadFailure:
    """A backend that did not load; everything it had registered is undone.

    Attributes:
        name: The entry point's name.
        value: The module it names.
        distribution: The distribution it belongs to, with its version.
        error: What the import raised.
        traceback: The formatted traceback.
    """

    name: str
    value: str
    distribution: str | None
    error: BaseException
    traceback: str
