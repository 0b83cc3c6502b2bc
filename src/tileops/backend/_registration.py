"""What a backend can register, as records that keep who registered it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from tileops.kernels.kernel import Kernel
from tileops.selection import Origin

BUILTIN = "builtin"
"""The target that forces the in-tree kernels."""


@dataclass(frozen=True)
class KernelRegistration:
    """An implementation added to an op under a key."""

    op: str
    key: str
    kernel_type: type[Kernel]
    origin: Origin

    @property
    def claimant(self) -> str:
        """Who registered it, for messages."""
        return claimant(self.origin)


@dataclass(frozen=True)
class DetectorRegistration:
    """A target's function that says whether a device is its own."""

    target: str
    detect: Callable[[torch.device], bool]
    origin: Origin


@dataclass(frozen=True)
class BuilderRegistration:
    """A target's function that builds its kernel of one op."""

    op: str
    target: str
    build_kernel: Callable[..., Any]
    origin: Origin


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


def claimant(origin: Origin) -> str:
    """Name who registered something."""
    return origin.distribution or (f"module {origin.module}" if origin.module else "tileops")
