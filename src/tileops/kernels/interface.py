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

    Interfaces that share a call spec may differ in the calls that there are. Such a one states
    ``narrowed``, a subclass of ``request`` without facts of its own, whose ``impossible`` says
    more. Calls of either type are taken.
    """

    request: ClassVar[type[CallSpec]]
    narrowed: ClassVar[type[CallSpec] | None] = None

    @classmethod
    def calls(cls) -> type[CallSpec]:
        """Return the type of the calls that are decided: ``narrowed``, or else ``request``."""
        return cls.narrowed or cls.request

    @classmethod
    def takes(cls, call: object) -> bool:
        """Whether *call* is of a type that the interface decides calls of."""
        return isinstance(call, cls.calls()) or type(call) is cls.request

    @classmethod
    def narrow(cls, call: CallSpec) -> CallSpec:
        """Return *call*, which the interface takes, as a call of the type that is decided."""
        kind = cls.calls()
        if isinstance(call, kind):
            return call
        return kind(device=call.device, **call.stated_facts(), **call.facts())

    @abstractmethod
    def forward(self, *args: Any) -> Any:
        """Run the kernel on the arguments that the op passes."""
