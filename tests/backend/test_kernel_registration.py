"""Adding implementations to ops: register_kernel_type, and when instances see them."""

import threading

import pytest

from tileops.backend import Registry
from tileops.errors import (
    BackendError,
    KeyReuseError,
    NotAClassmethodError,
    OpNotAvailableError,
    UnknownKernelInterfaceError,
)
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.call_spec import LayerNormCall, LayerNormFwdInterface
from tileops.ops.norm.layer_norm import LayerNormFwdOp


def registry_for(*ops: str) -> Registry:
    """Return an empty registry that knows *ops* and loads no installed backend."""
    return Registry(known_ops=lambda: set(ops), entry_points=tuple)


class CpuKernel(Kernel, LayerNormFwdInterface):
    """An implementation beside the in-tree one."""

    devices = frozenset({"cpu"})

    def forward(self, x, weight, bias):
        return x.clone()


class OtherCpuKernel(CpuKernel):
    pass


@pytest.mark.parametrize(
    ("op", "key", "kernel_type", "fragment"),
    [
        pytest.param("LayerNormFwd", "k", CpuKernel, "did you mean LayerNormFwdOp", id="op"),
        pytest.param("", "k", CpuKernel, "there is no op ''", id="no-op"),
        pytest.param("LayerNormFwdOp", "k", "kernel", "'kernel' is not a class", id="no-class"),
        pytest.param("LayerNormFwdOp", "k", CpuKernel(), "is not a class", id="instance"),
        pytest.param("LayerNormFwdOp", "", CpuKernel, "key must be a name", id="empty-key"),
        pytest.param("LayerNormFwdOp", None, CpuKernel, "key must be a name", id="no-key"),
    ],
)
def test_bad_registration(op, key, kernel_type, fragment):
    """A registration that cannot be meant raises at once, with what is wrong."""
    registry = registry_for("LayerNormFwdOp")
    with pytest.raises(BackendError, match="register_kernel_type") as caught:
        registry.register_kernel_type(op, key, kernel_type)
    assert fragment in str(caught.value)
    assert registry.kernels == {}


def test_a_key_is_registered_once_per_op():
    """The second claim on a key names both claimants; another op may use the same key."""
    registry = registry_for("LayerNormFwdOp", "OtherFwdOp")
    registry.register_kernel_type("LayerNormFwdOp", "cpu", CpuKernel)
    registry.register_kernel_type("OtherFwdOp", "cpu", CpuKernel)
    with pytest.raises(BackendError) as caught:
        registry.register_kernel_type("LayerNormFwdOp", "cpu", OtherCpuKernel)
    assert str(caught.value).count(f"module {__name__}") == 2
    assert registry.kernels["LayerNormFwdOp", "cpu"].kernel_type is CpuKernel


class _NotClassmethod(CpuKernel):
    def refusal(self, call):  # tileops: ignore[entry-for-not-classmethod] -- what is to be refused
        return None


class _OtherForward(CpuKernel):
    def forward(self, x):
        return x


class _NoInterface(Kernel):
    pass


@pytest.mark.parametrize(
    ("key", "kernel_type", "error", "fragment"),
    [
        pytest.param("layer_norm", CpuKernel, KeyReuseError, "reuse keys it has", id="in-tree"),
        pytest.param("k", _NoInterface, UnknownKernelInterfaceError, "k keys", id="no-interface"),
        pytest.param("k", _NotClassmethod, NotAClassmethodError, "refusal", id="no-classmethod"),
        pytest.param("k", _OtherForward, TypeError, "forward does not take", id="forward"),
    ],
)
def test_registered_classes_are_checked_when_the_op_is_constructed(
    key, kernel_type, error, fragment
):
    """Registration takes any class; the contract is checked at construction."""

    class CheckedFwdOp(LayerNormFwdOp):
        registry = registry_for("CheckedFwdOp")

    CheckedFwdOp.registry.register_kernel_type("CheckedFwdOp", key, kernel_type)
    with pytest.raises(error, match=fragment):
        CheckedFwdOp(8)


def test_every_thread_waits_for_the_backends():
    """While one thread loads the backends no other sees the tables half full."""
    loading, go_on, seen = threading.Event(), threading.Event(), []

    def entry_points():
        loading.set()
        assert go_on.wait(10)
        registry.register_kernel_type("LayerNormFwdOp", "cpu", CpuKernel)
        return ()

    def second():
        registry.load()
        seen.append(len(registry.kernels_of("LayerNormFwdOp")))

    registry = Registry(known_ops=lambda: {"LayerNormFwdOp"}, entry_points=entry_points)
    threads = [threading.Thread(target=registry.load), threading.Thread(target=second)]
    threads[0].start()
    assert loading.wait(10)
    threads[1].start()
    threads[1].join(0.05)
    assert seen == []
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert seen == [1]


def test_registration_reaches_instances_constructed_after_it():
    """An instance keeps the keys it was constructed with."""

    class LateFwdOp(LayerNormFwdOp):
        registry = registry_for("LateFwdOp")

    before, call = LateFwdOp(8), LayerNormCall("cpu", n=8)
    LateFwdOp.registry.register_kernel_type("LateFwdOp", "cpu", CpuKernel)
    assert LateFwdOp(8).key_for("layer_norm", call) == "cpu"
    with pytest.raises(OpNotAvailableError):
        before.key_for("layer_norm", call)


def test_registered_keys_follow_the_op_own_ones():
    """Verdicts come in the order of declaration: in-tree keys, then registered ones."""

    class OrderFwdOp(LayerNormFwdOp):
        registry = registry_for("OrderFwdOp")

    for key in ("zeta", "alpha"):
        OrderFwdOp.registry.register_kernel_type("OrderFwdOp", key, CpuKernel)
    verdicts = OrderFwdOp(8).explain("layer_norm", LayerNormCall("cpu", n=8)).verdicts
    assert [verdict.key for verdict in verdicts] == ["layer_norm", "zeta", "alpha"]
