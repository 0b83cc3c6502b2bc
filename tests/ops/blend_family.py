"""A synthetic op with everything a signature can say, whose kernels check what they are given.

Its kernels look at tensors as a launch would: at dense memory that starts where it must, of the
shape they were bound for.
"""

from __future__ import annotations

import dataclasses
import tempfile
from abc import abstractmethod
from functools import cache
from pathlib import Path

import torch
from torch.autograd import forward_ad

from tileops import manifest
from tileops.backend import Registry
from tileops.call_spec import CallSpec
from tileops.kernels.alignment import aligned, any_address
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.ops._recognise import modes
from tileops.ops.gradient import Gradient
from tileops.ops.op import Op

ENTRY = """
StirFwdOp:
  reference: x * scale + gain, and the sums of its rows
  signature:
    params:
      gain: {type: float, default: 1.0}
      sums: {type: bool, default: false}
    dtypes:
      T: [float32, float64]
    inputs:
      x: {dtype: T, shape: "[*B, N]"}
      scale: {dtype: T, shape: "[N]", optional: true}
      seen: {dtype: float32, shape: "[N]", optional: true, written: true, contiguous: true}
    outputs:
      y: {dtype: T, shape: "[*B, N]"}
      total: {dtype: T, shape: "[*B]", when: sums}
    refinements:
      - require: N != 5
        says: five is right out
    buffers:
      out: {output: y, contiguous: true}
    execution:
      chunk: {type: int, default: 1}
      mode: {type: str, default: fast, choices: [fast, exact]}
  workloads: {}
  roofline: {flops: 0, bytes: 0}
"""


@cache
def entry():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "blend.yaml").write_text(ENTRY)
        return manifest.load(Path(folder))["StirFwdOp"]


@dataclasses.dataclass(frozen=True)
class BlendCall(CallSpec):
    n: int = 0
    gain: float = 1.0
    sums: bool = False
    dtype: torch.dtype = torch.float32


class BlendFwdInterface(KernelInterface):
    request = BlendCall

    @abstractmethod
    def forward(self, x, scale, seen, *, out=None, chunk=1, mode="fast"): ...


def blend(x, scale, seen, gain, sums, out=None):
    """What every implementation computes; *seen* counts the calls."""
    y = x + gain if scale is None else x * scale + gain
    if out is not None:
        y = out.copy_(y)
    if seen is not None:
        seen += 1
    return (y, x.sum(-1)) if sums else y


class BrokenPromiseError(BaseException):
    """A kernel was given what it must not be given; no test takes it for an error of the call."""


def promised(condition):
    if not condition:
        raise BrokenPromiseError


class Blend(Kernel, BlendFwdInterface):
    """Serves rows of up to 8 elements; checks what an op promises."""

    devices = frozenset({"cpu"})

    @classmethod
    def refusal(cls, call):
        return None if call.n <= 8 else f"serves n <= 8, got {call.n}"

    @classmethod
    def entry_for(cls, call):
        return (call.n, call.gain, call.sums, call.dtype), lambda: cls(call)

    def __init__(self, call):
        super().__init__(call)
        self.call = call

    def forward(self, x, scale, seen, *, out=None, chunk=1, mode="fast"):
        for one in (x, scale):
            if one is not None:
                promised(one.data_ptr() % 16 == 0)
                promised((one.dtype, one.shape[-1]) == (self.call.dtype, self.call.n))
        return self.launch(x, scale, seen, out)

    def launch(self, x, scale, seen, out=None):
        for one in (x, scale, seen):
            promised(one is None or (one.is_contiguous() and not one.is_neg()))
        with torch.no_grad():
            return blend(x, scale, seen, self.call.gain, self.call.sums, out)


class BoundBlend(Blend):
    """Serves the longer rows; specialises on what it is bound to."""

    @classmethod
    def refusal(cls, call):
        if 8 < call.n < 12:
            return None  # tileops: ignore[refusal-drops-base-limits] -- the base serves other rows
        return f"serves 8 < n < 12, got {call.n}"

    def bind(self, *args):
        known = [None if one is None else facts(one) for one in args]
        dense = [one is None or (one.is_contiguous() and not one.is_neg()) for one in args]

        @any_address
        def run(x, scale, seen, *, out=None, chunk=1, mode="fast"):
            given = [None if one is None else facts(one) for one in (x, scale, seen)]
            promised([one and one[:3] for one in given] == [one and one[:3] for one in known])
            # What is not dense was copied.
            promised(
                all(one == other for one, other, d in zip(given, known, dense, strict=True) if d)
            )
            x = aligned(x)
            scale = None if scale is None else aligned(scale)
            return self.launch(x, scale, seen, out)

        return run


def facts(tensor):
    return tuple(tensor.shape), tensor.dtype, tensor.device, tensor.stride()


class StirFwdOp(Op):
    """The op; called as the library's ops are."""

    kernel_types = {"blend": Blend, "bound": BoundBlend}
    interfaces = {"blend": BlendFwdInterface}
    registry = Registry(known_ops=lambda: {"StirFwdOp", "TrainedStirFwdOp"}, entry_points=tuple)

    def __init__(self, gain=1.0, sums=False, *, target=None):
        super().__init__(target=target, gain=gain, sums=sums)

    @classmethod
    def signature(cls):
        return entry().signature

    def __call__(self, x, scale=None, seen=None, *, out=None, **execution):
        if out is None and not execution:
            recognise, run = self._recent
            if recognise(x, scale, seen) and not modes() and forward_ad._current_level < 0:
                return run(x, scale, seen)
        return self._call((x, scale, seen), {"out": out}, execution)

    def requests(self, *inputs):
        x = inputs[0]
        call = BlendCall(device=x.device, n=x.shape[-1], dtype=x.dtype, **self.params)
        return (("blend", call),)


class TrainedStirFwdOp(StirFwdOp):
    """The op with a backward."""

    def gradient(self):
        sums = self.params["sums"]

        def run(grad_y, *others):
            *grad_total, x, scale = others
            grad_x = grad_y if scale is None else grad_y * scale
            if grad_total:
                grad_x = grad_x + grad_total[0][..., None]
            grad_scale = (grad_y * x).reshape(-1, x.shape[-1]).sum(0)
            return grad_x, None if scale is None else grad_scale

        return Gradient(
            inputs=("x", "scale"),
            outputs=("y", "total") if sums else ("y",),
            saved=("x", "scale"),
            run=run,
        )


def build_blend(x, scale, seen, *, gain, sums):
    """The kernel of the target ``soft``, which gives gradients and serves every width but 3."""
    shape = x.shape
    if shape[-1] == 3:
        raise ValueError("the soft target has no rows of three")

    def soft(x, scale, seen, *, out=None, chunk=1, mode="fast"):
        promised(x.shape == shape)
        return blend(x, scale, seen, gain, sums, out)

    return soft


StirFwdOp.registry.register_kernel_builder("StirFwdOp", "soft", build_blend)
