"""register_kernel_type: a backend's implementation beside the in-tree ones of an op."""

from __future__ import annotations

import pytest
import torch
from probe import (
    AccumulateFwdOp,
    ProbeCall,
    ProbeFwdInterface,
    ProbeKernel,
    ShiftingKernel,
    probe_op,
    with_registry,
)

from tileops.backend import BUILTIN, Kernel
from tileops.errors import (
    ForwardSignatureError,
    KeyReuseError,
    NotAClassmethodError,
    NotAKernelError,
    UnknownKernelInterfaceError,
)


@pytest.mark.parametrize(
    ("n", "answer"),
    [
        pytest.param(1, 1002.0, id="only-the-added-one-serves-it"),
        pytest.param(2, 1002.0, id="both-the-added-one-is-preferred"),
        pytest.param(4, 1002.0, id="boundary"),
        pytest.param(5, 2.0, id="beyond-in-tree"),
    ],
)
def test_calls_it_does_not_serve_stay_in_tree(registry, n, answer):
    """A new key has its own range and precedence; no target is involved."""
    registry.register_kernel_type("ProbeFwdOp", "shifting", ShiftingKernel)
    op = probe_op(registry)()
    assert op(torch.ones(n)).tolist() == [answer] * n
    assert op.serving_target == BUILTIN


def test_another_device_type_is_not_taken_over(registry):
    """An implementation without the call's device type does not compete."""

    class Elsewhere(ShiftingKernel):
        devices = frozenset({"xpu"})

    registry.register_kernel_type("ProbeFwdOp", "elsewhere", Elsewhere)
    op = probe_op(registry)()
    assert op(torch.ones(4)).tolist() == [2.0] * 4
    verdicts = op.explain("probe", ProbeCall("cpu", n=4)).verdicts
    assert [one.stage.value for one in verdicts] == ["selected", "device"]


class NoInterface(Kernel):
    def forward(self, x, bias):
        return x


class NoKernel(ProbeFwdInterface):
    def forward(self, x, bias, *, out=None, splits=None):
        return x


class TakesLess(ProbeKernel):
    def forward(self, x, *, out=None, splits=None):
        return x


class TakesNoBuffer(ProbeKernel):
    def forward(self, x, bias):
        return x


class EntryAsMethod(ProbeKernel):
    def entry_for(self, call):
        return call, lambda: self


@pytest.mark.parametrize(
    ("key", "kernel_type", "error", "text"),
    [
        pytest.param(
            "x", NoInterface, UnknownKernelInterfaceError, "x keys implement none", id="interface"
        ),
        pytest.param("x", int, UnknownKernelInterfaceError, "x keys implement none", id="a-type"),
        pytest.param("x", NoKernel, NotAKernelError, "but not Kernel", id="no-kernel"),
        pytest.param("x", EntryAsMethod, NotAClassmethodError, "entry_for", id="entry-for"),
        pytest.param("x", TakesLess, ForwardSignatureError, "(x, bias, out, splits)", id="forward"),
        pytest.param("x", TakesNoBuffer, ForwardSignatureError, "out, splits", id="keywords"),
        pytest.param("probe", ProbeKernel, KeyReuseError, "reuse keys it has", id="in-tree-key"),
    ],
)
def test_a_class_that_breaks_the_contract(site, key, kernel_type, error, text):
    """Registration passes, constructing the op raises and names the key; other ops work."""
    source = (
        f"import {kernel_type.__module__} as there\n"
        f"register_kernel_type('ProbeFwdOp', {key!r}, there.{kernel_type.__name__})"
    )
    site.install("acme", source, distribution="acme-tiles", version="2.0")
    with pytest.raises(error) as caught:
        probe_op(site.registry)()
    assert text in str(caught.value)
    assert key in str(caught.value)
    if error is KeyReuseError:
        assert "acme-tiles 2.0" in str(caught.value)
    assert site.registry.failures == ()
    total, _ = with_registry(AccumulateFwdOp, site.registry)()(torch.ones(2, 2), torch.ones(2, 2))
    assert total.tolist() == [[2.0, 2.0]] * 2
