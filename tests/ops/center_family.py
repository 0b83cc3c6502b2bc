"""A forward op with a backward op, as a normalization in training is one: columns centred.

``y = (x - mean) * scale`` with the mean of each column, which is returned and added to ``total``.
"""

from __future__ import annotations

import dataclasses
import tempfile
from abc import abstractmethod
from functools import cache
from pathlib import Path

import torch

from tileops import manifest
from tileops.backend import Registry
from tileops.call_spec import CallSpec
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.ops.gradient import Gradient
from tileops.ops.op import Op

ENTRIES = """
CenterFwdOp:
  reference: (x - x.mean(0)) * scale
  signature:
    dtypes:
      T: [float32, float64]
    inputs:
      x: {dtype: T, shape: "[M, N]"}
      total: {dtype: T, shape: "[N]", optional: true, written: true}
      scale: {dtype: T, shape: "[N]", optional: true}
    outputs:
      y: {dtype: T, shape: "[M, N]"}
      mean: {dtype: T, shape: "[N]"}
    buffers:
      out: {output: y}
  workloads: {}
  roofline: {flops: 0, bytes: 0}
CenterBwdOp:
  reference: the backward of CenterFwdOp
  signature:
    dtypes:
      T: [float32, float64]
    inputs:
      grad_y: {dtype: T, shape: "[M, N]"}
      x: {dtype: T, shape: "[M, N]"}
      mean: {dtype: T, shape: "[N]"}
      scale: {dtype: T, shape: "[N]", optional: true}
    outputs:
      grad_x: {dtype: T, shape: "[M, N]"}
      grad_scale: {dtype: T, shape: "[N]"}
  workloads: {}
  roofline: {flops: 0, bytes: 0}
"""


@cache
def entries():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "center.yaml").write_text(ENTRIES)
        return manifest.load(Path(folder))


@dataclasses.dataclass(frozen=True)
class CenterCall(CallSpec):
    dtype: torch.dtype = torch.float32


class CenterFwdInterface(KernelInterface):
    request = CenterCall

    @abstractmethod
    def forward(self, x, total, scale, *, out=None): ...


class CenterBwdInterface(KernelInterface):
    request = CenterCall

    @abstractmethod
    def forward(self, grad_y, x, mean, scale): ...


class CenterKernel(Kernel, CenterFwdInterface):
    devices = frozenset({"cpu"})

    def forward(self, x, total, scale, *, out=None):
        mean = x.mean(0)
        if total is not None:
            # Through the memory, as a launch writes: torch sees nothing of it.
            total.data.add_(mean)
        y = x - mean if scale is None else (x - mean) * scale
        return (y if out is None else out.copy_(y)), mean


class CenterBwdKernel(Kernel, CenterBwdInterface):
    devices = frozenset({"cpu"})

    def forward(self, grad_y, x, mean, scale):
        grad = grad_y if scale is None else grad_y * scale
        return grad - grad.mean(0), (grad_y * (x - mean)).sum(0)


class _Center(Op):
    registry = Registry(
        known_ops=lambda: {"CenterFwdOp", "CenterBwdOp", "PlainCenterFwdOp"}, entry_points=tuple
    )

    def __init__(self, *, target=None):
        super().__init__(target=target)

    @classmethod
    def signature(cls):
        return entries()[cls.__name__.removeprefix("Plain")].signature

    def requests(self, *inputs):
        (interface,) = self.interfaces
        return ((interface, CenterCall(inputs[0].device, dtype=inputs[0].dtype)),)


class CenterBwdOp(_Center):
    kernel_types = {"center_bwd": CenterBwdKernel}
    interfaces = {"center_bwd": CenterBwdInterface}

    def __call__(self, grad_y, x, mean, scale=None):
        return self._call((grad_y, x, mean, scale))


class PlainCenterFwdOp(_Center):
    """The forward op without a backward."""

    kernel_types = {"center": CenterKernel}
    interfaces = {"center": CenterFwdInterface}

    def __call__(self, x, total=None, scale=None, *, out=None):
        return self._call((x, total, scale), {"out": out})


class CenterFwdOp(PlainCenterFwdOp):
    """The forward op with its backward."""

    def __init__(self, *, target=None):
        super().__init__(target=target)
        self.backward = CenterBwdOp(target=target)

    def gradient(self):
        return Gradient(
            inputs=("x", "scale"),
            outputs=("y",),
            saved=("x", "mean", "scale"),
            run=self.backward,
        )
