"""The ops that the tests of backends register against, and what their targets build.

``ProbeFwdOp`` computes ``x * factor + bias`` on the CPU; its in-tree kernel serves rows of more
than one element. ``AccumulateFwdOp`` writes in place, ``TwiceFwdOp`` is made of two probes.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from pathlib import Path

import torch

from tileops import manifest
from tileops.backend import CallSpec, Kernel, KernelInterface, Registry
from tileops.ops.op import Op

ENTRIES = manifest.load(Path(__file__).parent / "synthetic")


@dataclasses.dataclass(frozen=True)
class ProbeCall(CallSpec):
    n: int = 0
    factor: float = 2.0
    dtype: torch.dtype = torch.float32


class ProbeFwdInterface(KernelInterface):
    request = ProbeCall

    @abstractmethod
    def forward(
        self,
        x: torch.Tensor,
        bias: torch.Tensor | None,
        *,
        out: torch.Tensor | None = None,
        splits: int | None = None,
    ) -> torch.Tensor: ...


class ScalingKernel(Kernel, ProbeFwdInterface):
    """Its configuration is the splits of the last call."""

    devices = frozenset({"cpu"})

    def __init__(self, call: ProbeCall) -> None:
        super().__init__()
        self.factor = call.factor

    def forward(self, x, bias, *, out=None, splits=None):
        self.config = {"splits": splits}
        y = x * self.factor + (0 if bias is None else bias)
        return y if out is None else out.copy_(y)


class ProbeKernel(ScalingKernel):
    """Serves rows of two elements and more."""

    @classmethod
    def refusal(cls, call):
        if call.n < 2:
            return f"serves rows of two elements or more, got {call.n}"
        return super().refusal(call)


class ShiftingKernel(ScalingKernel):
    """An added implementation, told by the 1000 it adds, which serves rows of at most 4."""

    preferred_over = frozenset({"probe"})

    @classmethod
    def refusal(cls, call):
        if call.n > 4:
            return f"serves rows of at most 4, got {call.n}"
        return super().refusal(call)

    def forward(self, x, bias, *, out=None, splits=None):
        return super().forward(x, bias, out=out, splits=splits) + 1000


class ProbeFwdOp(Op):
    kernel_types = {"probe": ProbeKernel}
    interfaces = {"probe": ProbeFwdInterface}

    def __init__(self, factor=2.0, label=None, *, target=None):
        super().__init__(target=target, factor=factor, label=label)

    @classmethod
    def signature(cls):
        return ENTRIES[cls.__name__].signature

    def __call__(self, x, bias=None, *, out=None, **execution):
        return self._call((x, bias), {"out": out}, execution)

    def requests(self, *inputs):
        x = inputs[0]
        call = ProbeCall(x.device, n=x.shape[-1], factor=self.params["factor"], dtype=x.dtype)
        return (("probe", call),)


@dataclasses.dataclass(frozen=True)
class AccumulateCall(CallSpec):
    pass


class AccumulateFwdInterface(KernelInterface):
    request = AccumulateCall

    @abstractmethod
    def forward(self, total: torch.Tensor, x: torch.Tensor) -> torch.Tensor: ...


class AccumulateKernel(Kernel, AccumulateFwdInterface):
    devices = frozenset({"cpu"})

    def forward(self, total, x):
        total += x
        return total.amax(dim=1)


class AccumulateFwdOp(Op):
    kernel_types = {"accumulate": AccumulateKernel}
    interfaces = {"accumulate": AccumulateFwdInterface}

    def __init__(self, *, target=None):
        super().__init__(target=target)

    @classmethod
    def signature(cls):
        return ENTRIES["AccumulateFwdOp"].signature

    def __call__(self, total, x):
        return self._call((total, x))

    def requests(self, *inputs):
        return (("accumulate", AccumulateCall(inputs[0].device)),)


class TwiceFwdOp(Op):
    """Holds no kernel; its probes serve it."""

    def __init__(self, *, target=None):
        super().__init__(target=target)
        self.parts = [probe_op(self.registry)(target=target) for _ in range(2)]

    @classmethod
    def signature(cls):
        return ENTRIES["TwiceFwdOp"].signature

    def __call__(self, x):
        return self._call((x,))

    def requests(self, *inputs):
        return ()

    def bind(self, kernels, *inputs):
        first, second = self.parts
        return lambda x: second(first(x))


def registry_of(points=tuple):
    """Return a registry that knows these ops and loads *points*."""
    return Registry(known_ops=lambda: sorted(ENTRIES), entry_points=points)


def with_registry(op, registry):
    """Return a class like *op*, under the same name, that reads *registry*."""
    return type(op.__name__, (op,), {"registry": registry})


def probe_op(registry):
    """Return the ProbeFwdOp that reads *registry*."""
    return with_registry(ProbeFwdOp, registry)


class Builder:
    """A ``build_kernel`` of a target, told by the 100 that its kernels add to the answer.

    It notes every build; ``failures`` are raised first, one a build.
    """

    def __init__(self, shift=100, failures=()):
        self.shift = shift
        self.failures = list(failures)
        self.built = []

    def __call__(self, x, bias, *, factor, label):
        self.built.append((x, bias, {"factor": factor, "label": label}))
        if self.failures:
            raise self.failures.pop(0)
        return self.kernel(factor)

    def kernel(self, factor):
        def run(x, bias, *, out=None, splits=None):
            y = x * factor + (0 if bias is None else bias) + self.shift
            return y if out is None else out.copy_(y)

        return run
