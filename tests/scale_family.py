"""A family for tests: a call spec, interfaces, small kernels, and op classes made of them."""

import copy
import dataclasses
import pickle
from abc import abstractmethod
from typing import Annotated, Any

import torch

from tileops.backend import Registry
from tileops.call_spec import CallSpec, Range
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.ops.op import Op


@dataclasses.dataclass(frozen=True)
class ScaleCall(CallSpec):
    n: Annotated[int, Range(1, 4096)] = 0
    dtype: torch.dtype = torch.float16
    extra: Any = None  # tileops: ignore[call-spec-mutable-field] -- tests what is refused


@dataclasses.dataclass(frozen=True)
class OtherCall(CallSpec):
    n: int = 0


class ScaleFwdInterface(KernelInterface):
    request = ScaleCall

    @abstractmethod
    def forward(self, x: torch.Tensor, factor: torch.Tensor) -> torch.Tensor: ...


class TwoMethodFwdInterface(KernelInterface):
    request = ScaleCall

    @abstractmethod
    def forward(self, x: torch.Tensor) -> torch.Tensor: ...

    @abstractmethod
    def workspace(self) -> int: ...


class ScaleKernel(Kernel, ScaleFwdInterface):
    devices = frozenset({"cpu"})

    def forward(self, x, factor):
        return x * factor


class General(ScaleKernel):
    general = True


class Narrow(ScaleKernel):
    @classmethod
    def refusal(cls, call):
        return None if call.n <= 256 else f"serves n <= 256, got {call.n}"


class OnCuda(ScaleKernel):
    devices = frozenset({"cuda"})
    supported_archs = [80, 90]


class OverA(ScaleKernel):
    preferred_over = frozenset({"a"})


class OverB(ScaleKernel):
    preferred_over = frozenset({"b"})


class WorkspaceKernel(Kernel, TwoMethodFwdInterface):
    def forward(self, x):
        return x

    def workspace(self):
        return 0


TWO = {"scale": ScaleFwdInterface, "two": TwoMethodFwdInterface}


ON_CPU = ScaleCall(device="cpu", n=512)


def op_of(interfaces=None, **kernel_types):
    """Make an op class that holds *kernel_types*."""
    declared = {
        "kernel_types": kernel_types,
        "interfaces": {"scale": ScaleFwdInterface} if interfaces is None else interfaces,
        "registry": Registry(known_ops=lambda: {"ScaleFwdOp"}, entry_points=tuple),
    }
    return type("ScaleFwdOp", (Op,), declared)


def check_round_trip(error):
    """Check that pickling and copying keep class, sentence and fields."""
    for same in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(same) is type(error)
        assert str(same) == str(error)
        assert same.fields.keys() == error.fields.keys()
        if error.fields.get("selection") is not None:
            assert same.selection == error.selection
