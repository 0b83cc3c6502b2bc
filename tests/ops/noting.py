"""Implementations that note what happens to them, and ops made of them."""

import threading
import time

import torch.nn.functional as F

from tileops.backend import Registry
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.call_spec import LayerNormCall, LayerNormFwdInterface
from tileops.ops.norm.layer_norm import LayerNormFwdOp


class Noted:
    """What happened to the implementation that `noting` made."""

    def __init__(self):
        self.asked, self.entered, self.built, self.tuned, self.launched = [], [], [], [], []
        self.fails = 0
        self.tuner_fails = 0
        self.serves = True


def noting(*bases, name="NotingKernel", delay=0.0, archs=None, device="cpu", width_only=True):
    """Make an implementation that notes what happens to it, and its notes."""
    noted = Noted()

    class NotingKernel(*(bases or (Kernel, LayerNormFwdInterface))):
        devices = frozenset({device, "meta"} if archs is None else {device})
        supported_archs = archs

        @classmethod
        def refusal(cls, call):
            noted.asked.append(call.n)
            return None if noted.serves else "serves nothing now"

        @classmethod
        def entry_for(cls, call):
            noted.entered.append(call.n)
            return call.n if width_only else call, lambda: cls(call)

        def __init__(self, call):
            super().__init__()
            time.sleep(delay)
            self.n, self.eps = call.n, call.eps
            if noted.fails:
                noted.fails -= 1
                raise OSError("the compiler failed")
            noted.built.append(call.n)

        def forward(self, x, weight, bias):
            noted.launched.append(self.n)
            return F.layer_norm(x, (self.n,), weight, bias, self.eps)

        def request_tune(self):
            if noted.tuner_fails:
                noted.tuner_fails -= 1
                raise ArithmeticError("the tuner failed")
            noted.tuned.append(self.n)
            self.config = "tuned"

    NotingKernel.__qualname__ = NotingKernel.__name__ = name
    return NotingKernel, noted


def op_with(interfaces=None, **kernel_types):
    """Make an op of width 8 that holds *kernel_types*."""
    declared = {
        "kernel_types": kernel_types,
        "interfaces": interfaces or {"layer_norm": LayerNormFwdInterface},
        "registry": Registry(known_ops=set, entry_points=tuple),
    }
    return type("NotingFwdOp", (LayerNormFwdOp,), declared)(8)


def in_threads(count, act):
    """Run *act* in *count* threads that start together; return results and errors."""
    together, results, errors = threading.Barrier(count), [], []

    def run():
        together.wait(10)
        try:
            results.append(act())
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results, errors


def spec(n=8, device="cpu", **facts):
    return LayerNormCall(device=device, n=n, **facts)
