"""An op with boundaries, for the tests of the plugin; projects of their own get a copy."""

import dataclasses
from abc import abstractmethod
from typing import Annotated

import torch

from tileops.backend import Registry
from tileops.call_spec import CallSpec, Range
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.ops.op import Op


@dataclasses.dataclass(frozen=True)
class ToyCall(CallSpec):
    n: Annotated[int, Range(1, 4096)] = 1
    causal: bool = False


class ToyFwdInterface(KernelInterface):
    request = ToyCall

    @abstractmethod
    def forward(self, x: torch.Tensor) -> torch.Tensor: ...


class ToyKernel(Kernel, ToyFwdInterface):
    devices = frozenset({"cpu"})

    def forward(self, x):
        return x


class General(ToyKernel):
    general = True


class Short(ToyKernel):
    @classmethod
    def refusal(cls, call):
        if call.causal:
            return "serves no causal mask"
        return None if call.n <= 256 else f"serves n <= 256, got {call.n}"


class ToyFwdOp(Op):
    kernel_types = {"general": General, "short": Short}
    interfaces = {"toy": ToyFwdInterface}
    registry = Registry(known_ops=lambda: {"ToyFwdOp"}, entry_points=tuple)
