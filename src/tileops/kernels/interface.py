"""KernelInterface: the contract between an op and every implementation it may select."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from tileops.call_spec import CallSpec

__all__ = ["KernelInterface"]


class KernelInterface(ABC):
    """What an op calls, and with which arguments.

    A subclass states ``request``, the call spec type, and gives the abstract ``forward`` its
    parameters and its docstring: shape, dtype, layout and device of every tensor, what is written
    in place, and what is returned. An implementation is written from that contract alone. Further
    methods that the op calls on an entry are abstract methods too; values that every
    implementation must agree on are class methods that the interface computes from the call spec.
    """

    request: ClassVar[type[CallSpec]]

    @abstractmethod
    def forward(self, *args: Any) -> Any:
        """Run the kernel on the arguments that the op passes."""
