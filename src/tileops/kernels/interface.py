"""KernelInterface: the contract between an op and every implementation it may select."""

from __future__ import annotations

import dataclasses
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
    ``narrowed``, a subclass of ``request`` with the same facts and defaults, whose ``impossible``
    says more. Every call of the shared type is taken, and decided as one of the narrowed type.
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
        return isinstance(call, cls.request)

    @classmethod
    def narrow(cls, call: CallSpec) -> CallSpec:
        """Return *call*, which the interface takes, as a call of the type that is decided.

        A subclass of that type stays what it is. Of any other call, also of one that a sibling
        narrowed, the facts that the interface knows are taken over.
        """
        kind = cls.calls()
        if isinstance(call, kind):
            return call
        known = {one.name for one in dataclasses.fields(kind)}
        facts = {name: value for name, value in call.facts().items() if name in known}
        return kind(device=call.device, **call.stated_facts(), **facts)

    @abstractmethod
    def forward(self, *args: Any) -> Any:
        """Run the kernel on the arguments that the op passes."""
