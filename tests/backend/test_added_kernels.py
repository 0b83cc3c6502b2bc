"""register_kernel_type: a backend's implementation beside the in-tree ones of an op."""

from __future__ import annotations

import pytest
import torch
from probe import ProbeCall, ProbeFwdInterface, ProbeKernel, ShiftingKernel, probe_op, with_registry

from tileops import LayerNormFwdOp
from tileops.backend import BUILTIN, Kernel, Registry
from tileops.errors import (
    AmbiguousDispatchError,
    ForwardSignatureError,
    KeyReuseError,
    NotAClassmethodError,
    NotAKernelError,
    UnknownKernelInterfaceError,
    UnservedCallError,
)
from tileops.kernels.norm.call_spec import LayerNormCall, LayerNormFwdInterface


class TorchLayerNorm(Kernel, LayerNormFwdInterface):
    """A replacement written against the interface alone."""

    devices = frozenset({"cpu", "cuda"})

    def __init__(self, n, eps):
        super().__init__()
        self.n, self.eps = n, eps

    @classmethod
    def entry_for(cls, call):
        return (call.n, call.eps), lambda: cls(call.n, call.eps)

    def forward(self, x, weight, bias):
        wide = (x.float(), (self.n,), weight.float(), bias.float(), self.eps)
        return torch.nn.functional.layer_norm(*wide).to(x.dtype)


class NarrowTorchLayerNorm(TorchLayerNorm):
    """It wins over the in-tree one on short rows."""

    preferred_over = frozenset({"layer_norm"})

    @classmethod
    def refusal(cls, call):
        return None if call.n <= 256 else f"serves rows of at most 256, got {call.n}"


class UnrankedTorchLayerNorm(NarrowTorchLayerNorm):
    preferred_over = frozenset()


def layer_norm(**added):
    """Return LayerNormFwdOp with a registry that adds these keys."""
    registry = Registry(entry_points=tuple)
    for key, kernel_type in added.items():
        registry.register_kernel_type("LayerNormFwdOp", key, kernel_type)
    return with_registry(LayerNormFwdOp, registry)


@pytest.mark.parametrize(
    ("n", "key"),
    [
        pytest.param(1, "torch_short_rows", id="shortest"),
        pytest.param(256, "torch_short_rows", id="boundary"),
        pytest.param(257, "layer_norm", id="beyond-in-tree"),
        pytest.param(1024, "layer_norm", id="wide-in-tree"),
    ],
)
def test_calls_it_does_not_serve_stay_in_tree(n, key):
    """A new key has its own range and precedence; every other call is selected as before."""
    op = layer_norm(torch_short_rows=NarrowTorchLayerNorm)(n)
    assert op.key_for("layer_norm", LayerNormCall(n=n, arch=90)) == key


def test_an_overlap_without_precedence_is_ambiguous():
    """The in-tree implementation is not general, so an overlap must say which wins."""
    op = layer_norm(torch_short_rows=UnrankedTorchLayerNorm)(256)
    with pytest.raises(AmbiguousDispatchError, match="layer_norm, torch_short_rows"):
        op.key_for("layer_norm", LayerNormCall(n=256, arch=90))
    assert op.key_for("layer_norm", LayerNormCall(n=257, arch=90)) == "layer_norm"


def test_it_runs_where_the_in_tree_kernels_do_not():
    """A class that names its device type makes the op run there."""
    op = layer_norm(torch_short_rows=NarrowTorchLayerNorm)(8)
    x = torch.randn(3, 8)
    expected = torch.nn.functional.layer_norm(x.double(), (8,))
    torch.testing.assert_close(op(x).double(), expected, atol=1e-5, rtol=1e-5)
    assert op.serving_target == BUILTIN
    (built,) = op.iter_kernels()
    assert type(built.kernel) is NarrowTorchLayerNorm
    assert built.identity == (8, 1e-5)


def test_what_nobody_serves_names_every_reason():
    """On the CPU a wide row has no implementation, and the added one says why."""
    op = layer_norm(torch_short_rows=NarrowTorchLayerNorm)(1024)
    with pytest.raises(UnservedCallError, match="at most 256, got 1024"):
        op(torch.randn(2, 1024))


def test_only_instances_constructed_after_registration_have_it(registry):
    """An instance that exists keeps the keys it was constructed with."""
    op = probe_op(registry)
    before = op()
    registry.register_kernel_type("ProbeFwdOp", "shifting", ShiftingKernel)
    assert before(torch.ones(4)).tolist() == [2.0] * 4
    assert before.key_for("probe", ProbeCall("cpu", n=4)) == "probe"
    assert op()(torch.ones(4)).tolist() == [1002.0] * 4
    assert op()(torch.ones(5)).tolist() == [2.0] * 5


def test_another_device_type_is_not_taken_over(registry):
    """An implementation without the call's device type does not compete."""

    class Elsewhere(ShiftingKernel):
        devices = frozenset({"xpu"})

    registry.register_kernel_type("ProbeFwdOp", "elsewhere", Elsewhere)
    op = probe_op(registry)()
    assert op(torch.ones(4)).tolist() == [2.0] * 4
    verdicts = op.explain("probe", ProbeCall("cpu", n=4)).verdicts
    assert [one.stage.value for one in verdicts] == ["selected", "device"]


def test_added_keys_come_after_the_in_tree_ones(registry):
    """Verdicts are in the order of declaration, then of registration."""
    for key in ("zulu", "alpha"):
        registry.register_kernel_type("ProbeFwdOp", key, type(key, (ShiftingKernel,), {}))
    verdicts = probe_op(registry)().explain("probe", ProbeCall("cpu", n=8)).verdicts
    assert [one.key for one in verdicts] == ["probe", "zulu", "alpha"]


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
    assert with_registry(LayerNormFwdOp, site.registry)(8) is not None
