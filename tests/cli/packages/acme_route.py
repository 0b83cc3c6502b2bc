"""An op with a signature of its own, whose call asks for one kernel or for three."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from pathlib import Path

import torch

from tileops import manifest
from tileops.call_spec import CallSpec
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.ops.op import Op

ENTRIES = manifest.load(Path(__file__).parent)


@dataclasses.dataclass(frozen=True)
class RouteCall(CallSpec):
    """What both interfaces are asked with."""

    n: int = 0
    groups: tuple[int, ...] = ()
    accumulate: torch.dtype = torch.float32


class HeadFwdInterface(KernelInterface):
    """The interface of the first kernel."""

    request = RouteCall

    @abstractmethod
    def forward(self, x: object) -> object: ...


class TailFwdInterface(KernelInterface):
    """The interface of the kernels after it."""

    request = RouteCall

    @abstractmethod
    def forward(self, x: object) -> object: ...


class SpareFwdInterface(KernelInterface):
    """An interface that no call asks."""

    request = RouteCall

    @abstractmethod
    def forward(self, x: object) -> object: ...


class HeadKernel(Kernel, HeadFwdInterface):
    """Serves every call."""

    def forward(self, x: object) -> object:
        return x


class TailKernel(Kernel, TailFwdInterface):
    """Serves short rows."""

    @classmethod
    def refusal(cls, call: RouteCall) -> str | None:
        if call.n > 8:
            return f"serves rows of at most 8, got {call.n}"
        return super().refusal(call)

    def forward(self, x: object) -> object:
        return x


class SpareKernel(Kernel, SpareFwdInterface):
    """Serves every call."""

    def forward(self, x: object) -> object:
        return x


class RouteFwdOp(Op):
    """The op."""

    kernel_types = {"head": HeadKernel, "tail": TailKernel, "spare": SpareKernel}
    interfaces = {"head": HeadFwdInterface, "tail": TailFwdInterface, "spare": SpareFwdInterface}

    def __init__(self, groups, mode="fast", causal=None, accumulate=torch.float32, *, target=None):
        super().__init__(
            target=target, groups=groups, mode=mode, causal=causal, accumulate=accumulate
        )
        if self.params["groups"] == (13,):
            raise OSError("the thirteenth group is lost")

    @classmethod
    def entry(cls):
        return ENTRIES["RouteFwdOp"]

    def requests(self, *inputs):
        x, places, _ = inputs
        n = x.shape[-1]
        call = RouteCall(x.device, n=n, groups=self.params["groups"])
        call = call.with_facts(accumulate=self.params["accumulate"])
        if places is None:
            return (("head", call),)
        return (("head", call), ("tail", call), ("tail", call.with_facts(n=2 * n)))
