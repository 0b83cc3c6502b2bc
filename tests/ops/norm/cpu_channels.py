"""Batch and instance normalization by formula on a CPU, registered with ops of their own.

Every kernel checks what its interface promises it, and notes the workspace that it gets.
"""

from __future__ import annotations

import torch

from tileops.backend import Registry
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.call_spec import (
    BatchNormBwdInterface,
    BatchNormTrainFwdInterface,
    InstanceNormFwdInterface,
    InstanceNormInferFwdInterface,
    InstanceNormTrainFwdInterface,
)
from tileops.ops.norm.batch_norm import BatchNormFwdOp
from tileops.ops.norm.batch_norm_bwd import BatchNormBwdOp
from tileops.ops.norm.instance_norm import InstanceNormFwdOp


class CpuChannels(Kernel):
    """Checks its tensors; subclasses compute in float64."""

    devices = frozenset({"cpu"})
    workspaces: list = []

    def __init__(self, call):
        super().__init__(call)
        self.call = call

    def check(self, x, weight, bias, *statistics):
        call = self.call
        assert x.is_contiguous()
        assert x.data_ptr() % 16 == 0
        assert x.dtype == call.dtype
        assert (x.shape[0], x.shape[1], x[0, 0].numel()) == (call.n, call.c, call.spatial)
        for given, one in ((call.has_weight, weight), (call.has_bias, bias)):
            assert (one is not None) is given
            assert one is None or (one.dtype, one.shape) == (call.dtype, (call.c,))
        for one in statistics:
            assert one is None or (one.dtype, one.shape) == (torch.float32, (call.c,))
            assert one is None or one.is_contiguous()

    def note(self, interface, workspace):
        size = interface.workspace(self.call)
        assert (workspace is None) == (size == 0)
        if workspace is not None:
            assert (workspace.dtype, workspace.numel()) == (torch.float32, size)
            self.workspaces.append(workspace)

    def factors(self, x, weight, bias):
        shape = (1, -1, *[1] * (x.ndim - 2))
        one, zero = torch.ones(x.shape[1]), torch.zeros(x.shape[1])
        scale, shift = one if weight is None else weight, zero if bias is None else bias
        return shape, scale.double().view(shape), shift.double().view(shape)

    def move(self, running, value):
        running.copy_((1 - self.call.momentum) * running.double() + self.call.momentum * value)


class CpuTrain(CpuChannels, BatchNormTrainFwdInterface):
    def forward(self, x, running_mean, running_var, weight, bias, workspace):
        self.check(x, weight, bias, running_mean, running_var)
        self.note(BatchNormTrainFwdInterface, workspace)
        assert (running_mean is not None) is self.call.has_running_stats
        shape, scale, shift = self.factors(x, weight, bias)
        wide, dims = x.double(), [0, *range(2, x.ndim)]
        mean = wide.mean(dims)
        centred = wide - mean.view(shape)
        var = centred.square().mean(dims)
        rstd = (var + self.call.eps).rsqrt()
        if running_mean is not None:
            count = self.call.n * self.call.spatial
            self.move(running_mean, mean)
            self.move(running_var, var * count / (count - 1))
        y = centred * rstd.view(shape) * scale + shift
        return y.to(x.dtype), mean.float(), rstd.float()


class CpuBwd(CpuChannels, BatchNormBwdInterface):
    def forward(self, grad_output, x, mean, rstd, weight, workspace):
        self.check(x, weight, torch.empty(self.call.c, dtype=x.dtype), mean, rstd)
        self.note(BatchNormBwdInterface, workspace)
        assert grad_output.is_contiguous()
        shape, scale, _ = self.factors(x, weight, None)
        dims, count = [0, *range(2, x.ndim)], self.call.n * self.call.spatial
        dy = grad_output.double()
        normal = (x.double() - mean.double().view(shape)) * rstd.double().view(shape)
        shift = dy.sum(dims)
        slope = (dy * normal).sum(dims)
        inner = dy - shift.view(shape) / count - normal * slope.view(shape) / count
        dx = scale * rstd.double().view(shape) * inner
        return dx.to(x.dtype), slope.to(x.dtype), shift.to(x.dtype)


class CpuInfer(CpuChannels, InstanceNormInferFwdInterface):
    def forward(self, x, running_mean, running_var, weight, bias):
        self.check(x, weight, bias, running_mean, running_var)
        shape, scale, shift = self.factors(x, weight, bias)
        rstd = (running_var.double() + self.call.eps).rsqrt().view(shape)
        y = (x.double() - running_mean.double().view(shape)) * rstd * scale + shift
        return y.to(x.dtype)


class CpuInstance(CpuChannels, InstanceNormFwdInterface):
    def forward(self, x, weight, bias):
        self.check(x, weight, bias)
        _, scale, shift = self.factors(x, weight, bias)
        dims = list(range(2, x.ndim))
        centred = x.double() - x.double().mean(dims, keepdim=True)
        var = centred.square().mean(dims, keepdim=True)
        y = centred * (var + self.call.eps).rsqrt() * scale + shift
        return y.to(x.dtype)


class CpuInstanceTrain(CpuChannels, InstanceNormTrainFwdInterface):
    def forward(self, x, running_mean, running_var, weight, bias):
        dims = list(range(2, x.ndim))
        y = CpuInstance(self.call).forward(x, weight, bias)
        self.move(running_mean, x.double().mean(dims).mean(0))
        self.move(running_var, x.double().var(dims).mean(0))
        return y


def registered(op, **kernels):
    """Return a class like *op* with these kernels besides its own."""
    name = f"Cpu{op.__name__}"
    registry = Registry(known_ops=lambda: {name}, entry_points=tuple)
    for key, kernel in kernels.items():
        registry.register_kernel_type(name, key, kernel)
    return type(name, (op,), {"registry": registry})


CpuBatchNormBwdOp = registered(BatchNormBwdOp, cpu_bwd=CpuBwd)
CpuBatchNormFwdOp = registered(BatchNormFwdOp, cpu_train=CpuTrain, cpu_infer=CpuInfer)
CpuBatchNormFwdOp.backward_type = CpuBatchNormBwdOp
CpuInstanceNormFwdOp = registered(
    InstanceNormFwdOp, cpu_own=CpuInstance, cpu_train=CpuInstanceTrain, cpu_infer=CpuInfer
)
