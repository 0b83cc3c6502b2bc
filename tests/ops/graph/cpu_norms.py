"""Every row-norm op with kernels that run on a CPU, and what it is called with.

The kernels compute by formula in float32; each counts its launches.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from tileops import (
    AdaLayerNormFwdOp,
    AdaLayerNormZeroFwdOp,
    FusedAddLayerNormFwdOp,
    FusedAddRMSNormFwdOp,
    LayerNormFwdOp,
    RMSNormFwdOp,
)
from tileops.backend import Registry
from tileops.kernels.kernel import Kernel

WIDTH = 8
LONGEST = 64


def centred(x, eps):
    wide = x.float()
    wide = wide - wide.mean(-1, keepdim=True)
    return wide * (wide.square().mean(-1, keepdim=True) + eps).rsqrt()


def scaled(x, eps):
    wide = x.float()
    return wide * (wide.square().mean(-1, keepdim=True) + eps).rsqrt()


class CpuKernel(Kernel):
    """Serves rows of at most 64 elements and notes every launch."""

    devices = frozenset({"cpu"})
    launches: list

    @classmethod
    def refusal(cls, call):
        if call.n > LONGEST:
            return f"serves rows of at most {LONGEST} elements, got {call.n}"
        return super().refusal(call)

    def __init__(self, call):
        super().__init__(call)
        self.eps, self.dtype = call.eps, call.dtype

    def forward(self, *tensors):
        assert all(type(one) in (torch.Tensor, torch.nn.Parameter) for one in tensors)
        assert all(one.is_contiguous() and one.data_ptr() % 16 == 0 for one in tensors)
        assert {one.dtype for one in tensors} == {self.dtype}
        self.launches.append([tuple(one.shape) for one in tensors])
        outputs = self.compute(*tensors)
        rounded = tuple(one.to(tensors[0].dtype) for one in outputs)
        return rounded if len(rounded) > 1 else rounded[0]


class LayerNorm:
    def compute(self, x, weight, bias):
        return (centred(x, self.eps) * weight + bias,)


class RMSNorm:
    def compute(self, x, weight):
        return (scaled(x, self.eps) * weight,)


class FusedAddLayerNorm:
    def compute(self, x, residual, weight, bias):
        total = x + residual
        return centred(total, self.eps) * weight + bias, total


class FusedAddRMSNorm:
    def compute(self, x, residual, weight):
        total = x + residual
        return scaled(total, self.eps) * weight, total


class AdaLayerNorm:
    def compute(self, x, scale, shift):
        return (centred(x, self.eps) * scale + shift,)


class AdaLayerNormZero:
    def compute(self, x, scale, shift, gate):
        return ((centred(x, self.eps) * scale + shift) * gate,)


@dataclass(frozen=True)
class Case:
    """An op, its parameters, and the inputs of a call: ``x`` for rows, ``v`` for a vector."""

    op: type
    kernel: type
    params: tuple
    inputs: str

    def make(self, **keywords):
        """Return a new op with a kernel of its own, and the list of the kernel's launches."""
        (interface,) = self.op.interfaces.values()
        launches: list = []
        kernel = type(
            f"Cpu{self.kernel.__name__}",
            (self.kernel, CpuKernel, interface),
            {"launches": launches},
        )
        registry = Registry(known_ops=lambda: {self.op.__name__}, entry_points=tuple)
        registry.register_kernel_type(self.op.__name__, "cpu_rows", kernel)
        kind = type(self.op.__name__, (self.op,), {"registry": registry})
        return kind(*self.params, **keywords), launches

    def tensors(self, *leading, dtype=torch.float32):
        """Return the inputs of a call of rows of eight."""
        return [
            torch.randn(*(leading if kind == "x" else ()), WIDTH).to(dtype) for kind in self.inputs
        ]


CASES = {
    case.op.__name__: case
    for case in (
        Case(LayerNormFwdOp, LayerNorm, (WIDTH,), "xvv"),
        Case(RMSNormFwdOp, RMSNorm, (WIDTH,), "xv"),
        Case(FusedAddLayerNormFwdOp, FusedAddLayerNorm, (), "xxvv"),
        Case(FusedAddRMSNormFwdOp, FusedAddRMSNorm, (), "xxv"),
        Case(AdaLayerNormFwdOp, AdaLayerNorm, (), "xxx"),
        Case(AdaLayerNormZeroFwdOp, AdaLayerNormZero, (), "xxxx"),
    )
}
