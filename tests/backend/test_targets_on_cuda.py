"""Targets and the devices of a CUDA machine."""

from __future__ import annotations

import pytest
import torch
from probe import Builder, probe_op

pytestmark = pytest.mark.gpu


def test_an_op_called_on_two_devices_builds_for_each(registry):
    """The target is fixed once; its kernels are per device."""
    builder = Builder()
    registry.register_kernel_builder("ProbeFwdOp", "acme", builder)
    op = probe_op(registry)(target="acme")
    for device in ("cpu", "cuda", "cpu", "cuda"):
        y = op(torch.ones(2, device=device))
        assert y.device.type == device
        assert y.tolist() == [102.0, 102.0]
    assert [x.device.type for x, _, _ in builder.built] == ["cpu", "cuda"]


def test_tuning_makes_the_kernels_device_current(registry):
    """Whichever device is current for the caller."""
    last = torch.cuda.device_count() - 1
    current = []

    class Kernel:
        def request_tune(self):
            current.append(torch.cuda.current_device())

        def __call__(self, x, bias):
            return x + 1

    registry.register_kernel_builder("ProbeFwdOp", "acme", lambda x, bias, **params: Kernel())
    op = probe_op(registry)(target="acme")
    op.request_tune()
    op(torch.ones(2, device=f"cuda:{last}"))
    assert current == [last]
