"""Ops and their kernels: the inventory, added implementations, entries, tuning, threads."""

import importlib
import pkgutil
import threading
import time
from abc import abstractmethod
from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F

import tileops.ops
from tileops.backend import Registry
from tileops.device import READERS, DeviceFacts
from tileops.errors import (
    BackendError,
    KeyReuseError,
    NotAClassmethodError,
    OpNotAvailableError,
    UndeclaredInterfacesError,
    UnknownKernelInterfaceError,
    UnservedCallError,
)
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.call_spec import LayerNormCall, LayerNormFwdInterface
from tileops.kernels.norm.layer_norm import LayerNormKernel
from tileops.ops.norm.layer_norm import LayerNormFwdOp
from tileops.ops.op import Op

CPU = torch.device("cpu")


def run_device() -> torch.device:
    """Return the device that the tests' own implementations run on: CUDA, or the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def registry_for(*ops: str) -> Registry:
    """Return an empty registry that knows *ops* and loads no installed backend."""
    return Registry(known_ops=lambda: set(ops), entry_points=tuple)


# Every op of the package.


def every_op() -> Iterator[type[Op]]:
    """Import every module of tileops.ops and yield the op classes it defines."""
    for module in pkgutil.walk_packages(tileops.ops.__path__, "tileops.ops."):
        for one in vars(importlib.import_module(module.name)).values():
            if isinstance(one, type) and issubclass(one, Op) and one.__module__ == module.name:
                yield one


@pytest.mark.parametrize("op", sorted(every_op(), key=lambda op: op.__name__))
def test_every_op_that_holds_kernels_declares_interfaces(op):
    """Constructing the tables raises "declare interfaces instead" where kernels stand alone."""
    tables = op.selection_tables()
    assert set(tables) == set(op.interfaces)
    placed = {candidate.key for table in tables.values() for candidate in table.candidates}
    assert placed >= set(op.kernel_types)
    assert not hasattr(op, "entry_for")


def test_inventory_holds_the_shipped_ops():
    """The walk finds what it is meant to check."""
    assert LayerNormFwdOp in set(every_op())


def test_an_op_without_interfaces_is_told_to_declare_them():
    """Kernels without interfaces stop the construction."""

    class LonelyFwdOp(Op):
        kernel_types = {"layer_norm": LayerNormKernel}
        registry = registry_for()

    for act in (LonelyFwdOp, LonelyFwdOp.selection_tables):
        with pytest.raises(UndeclaredInterfacesError, match="declare interfaces instead"):
            act()


def test_defaults_of_a_kernel():
    """Table 3: what an implementation gets when it declares nothing."""

    class Bare(Kernel, LayerNormFwdInterface):
        def forward(self, x, weight, bias):
            return x

    call = LayerNormCall("cpu", n=4)
    assert Bare.devices == frozenset({"cuda"})
    assert Bare.supported_archs is None
    assert Bare.refusal(call) is None
    assert Bare.general is False
    assert Bare.preferred_over == frozenset()
    identity, factory = Bare.entry_for(call)
    assert identity == call
    assert isinstance(factory(), Bare)
    assert factory().request_tune() is None
    assert factory().config is None
    assert "forward" not in vars(Kernel)


# The specification's example of an added implementation.


class _TorchLayerNorm(Kernel, LayerNormFwdInterface):
    """A replacement written against ``LayerNormFwdInterface`` alone."""

    devices = frozenset({run_device().type})

    def __init__(self, n, eps):
        super().__init__()
        self.n, self.eps = n, eps

    @classmethod
    def entry_for(cls, call):
        return (call.n, call.eps), lambda: cls(call.n, call.eps)

    def forward(self, x, weight, bias):
        y = F.layer_norm(x.float(), (self.n,), weight.float(), bias.float(), self.eps)
        return y.to(x.dtype)


class _NarrowTorchLayerNorm(_TorchLayerNorm):
    """An added implementation for short rows, which wins over the in-tree one there."""

    preferred_over = frozenset({"layer_norm"})

    @classmethod
    def refusal(cls, call):
        if call.n > 256:
            return f"serves rows of at most 256, got {call.n}"
        return super().refusal(call)


class _CpuNarrow(_NarrowTorchLayerNorm):
    devices = frozenset({"cpu"})


class _CudaNarrow(_NarrowTorchLayerNorm):
    devices = frozenset({"cuda"})


class LocalLayerNorm(LayerNormFwdOp):
    """The example through the op's own table."""

    kernel_types = {"layer_norm": LayerNormKernel, "torch_short_rows": _NarrowTorchLayerNorm}
    registry = registry_for()


class RegisteredLayerNorm(LayerNormFwdOp):
    """The example through a registry."""

    registry = registry_for("RegisteredLayerNorm")


RegisteredLayerNorm.registry.register_kernel_type(
    "RegisteredLayerNorm", "torch_short_rows", _NarrowTorchLayerNorm
)

BOTH_WAYS = pytest.mark.parametrize("op_type", [LocalLayerNorm, RegisteredLayerNorm])


@BOTH_WAYS
@pytest.mark.parametrize("n", [1, 255, 256])
def test_added_implementation_serves_short_rows(op_type, n):
    """On the device it runs on, the added class wins for short rows and computes them."""
    op = op_type(n)
    x = torch.randn(3, n, device=run_device())
    weight, bias = torch.randn(2, n, device=run_device())
    assert op.key_for("layer_norm", LayerNormCall(x.device, n=n)) == "torch_short_rows"
    torch.testing.assert_close(op(x, weight, bias), F.layer_norm(x, (n,), weight, bias))
    (built,) = op.iter_kernels()
    assert (built.interface, built.identity) == ("layer_norm", (n, 1e-5))
    assert type(built.kernel) is _NarrowTorchLayerNorm


@BOTH_WAYS
@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_long_rows_without_cuda_are_row_7(op_type):
    """A key that runs here and refuses makes the call unserved, not the device unavailable."""
    op = op_type(1024)
    with pytest.raises(UnservedCallError, match="no implementation serves this call") as caught:
        op(torch.randn(2, 1024))
    assert "torch_short_rows: serves rows of at most 256, got 1024" in str(caught.value)
    assert "layer_norm: runs on cuda, got cpu" in str(caught.value)
    assert list(op.iter_kernels()) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_without_the_added_implementation_the_same_call_is_row_6():
    """With CUDA keys only, no key runs on the CPU at all."""
    with pytest.raises(OpNotAvailableError, match="in-tree kernels do not run on cpu") as caught:
        LayerNormFwdOp(1024)(torch.randn(2, 1024))
    assert type(caught.value) is OpNotAvailableError


@pytest.mark.parametrize(
    ("added", "call", "key"),
    [
        pytest.param(_CudaNarrow, {"arch": 90, "n": 256}, "torch_short_rows", id="overlap"),
        pytest.param(_CudaNarrow, {"arch": 90, "n": 257}, "layer_norm", id="just-outside"),
        pytest.param(_CudaNarrow, {"arch": 90, "n": 1024}, "layer_norm", id="n-1024"),
        pytest.param(_CudaNarrow, {"arch": 100, "n": 256}, "torch_short_rows", id="added-alone"),
        pytest.param(_CudaNarrow, {"arch": 100, "n": 257}, None, id="neither"),
        pytest.param(_CpuNarrow, {"arch": 90, "n": 256}, "layer_norm", id="added-elsewhere"),
        pytest.param(_CpuNarrow, {"device": "cpu", "n": 256}, "torch_short_rows", id="cpu"),
        pytest.param(_CpuNarrow, {"device": "cpu", "n": 257}, None, id="cpu-just-outside"),
    ],
)
def test_regions_of_the_example(added, call, key):
    """Calls the added class does not serve are still the in-tree implementation's."""

    class ExampleFwdOp(LayerNormFwdOp):
        registry = registry_for("ExampleFwdOp")

    ExampleFwdOp.registry.register_kernel_type("ExampleFwdOp", "torch_short_rows", added)
    op, call = ExampleFwdOp(call["n"]), LayerNormCall(**call)
    if key is not None:
        assert op.key_for("layer_norm", call) == key
    else:
        with pytest.raises(UnservedCallError):
            op.key_for("layer_norm", call)


class _Undeclared(_TorchLayerNorm):
    """Overlaps the in-tree implementation and declares nothing."""

    devices = frozenset({"cuda"})


def test_undeclared_overlap_is_ambiguous():
    """Without preferred_over the example would be ambiguous wherever both apply."""

    class OverlapFwdOp(LayerNormFwdOp):
        kernel_types = {"layer_norm": LayerNormKernel, "other": _Undeclared}
        registry = registry_for()

    op = OverlapFwdOp(256)
    with pytest.raises(ValueError, match="dispatch is ambiguous: layer_norm, other"):
        op.key_for("layer_norm", LayerNormCall(arch=90, n=256))
    assert op.key_for("layer_norm", LayerNormCall(arch=75, n=256)) == "other"


def test_registration_reaches_instances_constructed_after_it():
    """An instance keeps the keys it was constructed with."""

    class LateFwdOp(LayerNormFwdOp):
        registry = registry_for("LateFwdOp")

    before, call = LateFwdOp(8), LayerNormCall("cpu", n=8)
    LateFwdOp.registry.register_kernel_type("LateFwdOp", "cpu", _CpuNarrow)
    assert LateFwdOp(8).key_for("layer_norm", call) == "cpu"
    with pytest.raises(OpNotAvailableError):
        before.key_for("layer_norm", call)


def test_registered_keys_follow_the_op_own_ones():
    """Verdicts come in the order of declaration: in-tree keys, then registered ones."""

    class OrderFwdOp(LayerNormFwdOp):
        registry = registry_for("OrderFwdOp")

    for key in ("zeta", "alpha"):
        OrderFwdOp.registry.register_kernel_type("OrderFwdOp", key, _CpuNarrow)
    verdicts = OrderFwdOp(8).explain("layer_norm", LayerNormCall("cpu", n=8)).verdicts
    assert [verdict.key for verdict in verdicts] == ["layer_norm", "zeta", "alpha"]


@pytest.mark.parametrize(
    ("op", "key", "kernel_type", "fragment"),
    [
        pytest.param("LayerNormFwd", "k", _CpuNarrow, "did you mean LayerNormFwdOp", id="op"),
        pytest.param("", "k", _CpuNarrow, "there is no op ''", id="no-op"),
        pytest.param("LayerNormFwdOp", "k", "kernel", "'kernel' is not a class", id="no-class"),
        pytest.param("LayerNormFwdOp", "k", _CpuNarrow(4, 0.0), "is not a class", id="instance"),
        pytest.param("LayerNormFwdOp", "", _CpuNarrow, "key must be a name", id="empty-key"),
        pytest.param("LayerNormFwdOp", None, _CpuNarrow, "key must be a name", id="no-key"),
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
    registry.register_kernel_type("LayerNormFwdOp", "cpu", _CpuNarrow)
    registry.register_kernel_type("OtherFwdOp", "cpu", _CpuNarrow)
    with pytest.raises(BackendError) as caught:
        registry.register_kernel_type("LayerNormFwdOp", "cpu", _TorchLayerNorm)
    assert str(caught.value).count(f"module {__name__}") == 2
    assert registry.kernels["LayerNormFwdOp", "cpu"].kernel_type is _CpuNarrow


class _NotClassmethod(_CpuNarrow):
    def refusal(self, call):
        return None


class _OtherForward(_CpuNarrow):
    def forward(self, x):
        return x


class _NoInterface(Kernel):
    pass


@pytest.mark.parametrize(
    ("key", "kernel_type", "error", "fragment"),
    [
        pytest.param("layer_norm", _CpuNarrow, KeyReuseError, "reuse keys it has", id="in-tree"),
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
        registry.register_kernel_type("LayerNormFwdOp", "cpu", _CpuNarrow)
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


# An interface with more than forward.


class PlannedLayerNormFwdInterface(LayerNormFwdInterface):
    """Layer normalization in parts, whose size the kernel says."""

    @abstractmethod
    def rows_at_once(self, rows: int) -> int:
        """Return how many of *rows* rows one launch takes."""


class _Planned(_CpuNarrow, PlannedLayerNormFwdInterface):
    preferred_over = frozenset()
    launched: list[int] = []

    def rows_at_once(self, rows):
        return min(rows, 4)

    def forward(self, x, weight, bias):
        self.launched.append(x.shape[0])
        return super().forward(x, weight, bias)


class _PlannedWithoutPlan(_CpuNarrow, PlannedLayerNormFwdInterface):
    pass


class PlannedLayerNorm(LayerNormFwdOp):
    """Asks its kernel for the size of a part, then launches part by part."""

    kernel_types = {"planned": _Planned}
    interfaces = {"layer_norm": PlannedLayerNormFwdInterface}
    registry = registry_for()

    def bind(self, kernels, *inputs):
        (kernel,) = kernels
        rows = kernel.rows_at_once(inputs[0].shape[0])
        return lambda x, weight, bias: torch.cat(
            [kernel(part, weight, bias) for part in x.split(rows)]
        )


def test_op_calls_a_second_abstract_method():
    """A method beside forward is part of the contract, and the op calls it on the entry."""
    op, x = PlannedLayerNorm(8), torch.randn(10, 8)
    weight, bias = torch.randn(8), torch.randn(8)
    _Planned.launched.clear()
    torch.testing.assert_close(op(x, weight, bias), F.layer_norm(x, (8,), weight, bias))
    assert _Planned.launched == [4, 4, 2]


def test_second_abstract_method_must_be_implemented():
    """An implementation that leaves it out is rejected when the op is constructed."""

    class HalfFwdOp(PlannedLayerNorm):
        kernel_types = {"planned": _Planned, "half": _PlannedWithoutPlan}

    with pytest.raises(TypeError, match="leaves PlannedLayerNormFwdInterface's abstract rows_at"):
        HalfFwdOp(8)


class ScratchLayerNormFwdInterface(LayerNormFwdInterface):
    """Layer normalization that works in a buffer of the op's."""

    @classmethod
    def scratch_elements(cls, call: LayerNormCall) -> int:
        """Return the size of the buffer that every implementation works in."""
        return 2 * call.n + 1

    @abstractmethod
    def forward(self, x, weight, bias, scratch): ...


class _Scratch(Kernel, ScratchLayerNormFwdInterface):
    devices = frozenset({"cpu"})
    needed = 17

    @classmethod
    def refusal(cls, call):
        return None if call.n == 8 else f"serves n = 8, got {call.n}"

    def forward(self, x, weight, bias, scratch):
        assert scratch.numel() == self.needed
        scratch[: x.shape[-1]] = weight
        return F.layer_norm(x, x.shape[-1:], scratch[: x.shape[-1]], bias)


class _OtherScratch(_Scratch):
    preferred_over = frozenset({"scratch"})


class ScratchLayerNorm(LayerNormFwdOp):
    """Allocates its kernel's buffer before any kernel is selected."""

    kernel_types = {"scratch": _Scratch, "other": _OtherScratch}
    interfaces = {"layer_norm": ScratchLayerNormFwdInterface}
    registry = registry_for()
    scratch: torch.Tensor | None = None

    def __call__(self, input, weight=None, bias=None):
        ((interface, call),) = self.requests(input, weight, bias)
        self.scratch = input.new_empty(self.interfaces[interface].scratch_elements(call))
        return super().__call__(input, weight, bias)

    def bind(self, kernels, *inputs):
        (kernel,) = kernels
        return lambda x, weight, bias: kernel(x, weight, bias, self.scratch)


def test_interface_computes_a_buffer_size_before_selection():
    """The size comes from the interface and the call spec, whichever implementation is selected."""
    op, x, weight, bias = ScratchLayerNorm(8), torch.randn(3, 8), torch.randn(8), torch.randn(8)
    torch.testing.assert_close(op(x, weight, bias), F.layer_norm(x, (8,), weight, bias))
    assert op.scratch.numel() == 17
    assert type(next(op.iter_kernels()).kernel) is _OtherScratch
    unserved = ScratchLayerNorm(4)
    with pytest.raises(UnservedCallError):
        unserved(torch.randn(3, 4), torch.randn(4), torch.randn(4))
    assert unserved.scratch.numel() == 9


# Entries: built once, found again, never kept when they failed.


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
        "registry": registry_for(),
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


def test_an_equal_call_finds_its_kernel():
    """The second equal call asks no refusal, no entry and no factory."""
    kernel_type, noted = noting()
    op = op_with(a=kernel_type)
    kernel = op.kernel_for("layer_norm", spec())
    assert op.kernel_for("layer_norm", spec()) is kernel
    assert (noted.asked, noted.entered, noted.built) == ([8], [8], [8])


def test_equal_identities_share_a_kernel():
    """Calls that differ in facts outside the identity are judged anew and share the build."""
    kernel_type, noted = noting()
    op = op_with(a=kernel_type)
    one = op.kernel_for("layer_norm", spec(eps=1e-5))
    assert op.kernel_for("layer_norm", spec(eps=1e-6)) is one
    assert noted.built == [8]
    assert noted.asked == [8, 8]
    assert op.kernel_for("layer_norm", spec(n=16)) is not one
    assert noted.built == [8, 16]


def test_default_identity_is_the_whole_call():
    """Without an identity of its own every differing fact is another build."""
    kernel_type, noted = noting(width_only=False)
    op = op_with(a=kernel_type)
    op.kernel_for("layer_norm", spec(eps=1e-5))
    op.kernel_for("layer_norm", spec(eps=1e-6))
    assert noted.built == [8, 8]


def test_devices_do_not_share_a_kernel():
    """The device belongs to the key of an entry even when the identity leaves it out."""
    kernel_type, noted = noting()
    op = op_with(a=kernel_type)
    on_cpu, on_meta = (op.kernel_for("layer_norm", spec(device=d)) for d in ("cpu", "meta"))
    assert on_cpu is not on_meta
    assert noted.built == [8, 8]
    assert [built.device for built in op.iter_kernels()] == [CPU, torch.device("meta")]


def test_classes_do_not_share_a_kernel():
    """Two implementations with equal identities have kernels of their own."""
    narrow, _ = noting(name="Narrow")
    wide, _ = noting(name="Wide")
    narrow.preferred_over = frozenset({"wide"})
    narrow.refusal = classmethod(lambda cls, call: None if call.eps < 1e-5 else "serves small eps")
    op = op_with(narrow=narrow, wide=wide)
    assert type(op.kernel_for("layer_norm", spec(eps=1e-6))) is narrow
    assert type(op.kernel_for("layer_norm", spec(eps=1e-5))) is wide


class SecondFwdInterface(LayerNormFwdInterface):
    """Another contract of the same shape."""


def test_interfaces_do_not_share_a_kernel():
    """A class that serves two interfaces is built for each, since each has its own contract."""
    kernel_type, noted = noting(Kernel, SecondFwdInterface)
    op = op_with({"layer_norm": LayerNormFwdInterface, "second": SecondFwdInterface}, a=kernel_type)
    first, second = (op.kernel_for(name, spec()) for name in ("layer_norm", "second"))
    assert first is not second
    assert noted.built == [8, 8]
    assert [built.interface for built in op.iter_kernels()] == ["layer_norm", "second"]


def test_instances_do_not_share_kernels():
    """Every op instance has its own entries."""
    kernel_type, _ = noting()
    one, two = op_with(a=kernel_type), op_with(a=kernel_type)
    assert one.kernel_for("layer_norm", spec()) is not two.kernel_for("layer_norm", spec())


def test_key_for_and_explain_build_nothing():
    """Asking which key serves a call neither enters nor builds, and keeps nothing."""
    kernel_type, noted = noting()
    op = op_with(a=kernel_type)
    for _ in range(2):
        assert op.key_for("layer_norm", spec()) == "a"
        assert op.explain("layer_norm", spec()).winner() == "a"
    assert (noted.entered, noted.built) == ([], [])
    assert noted.asked == [8] * 4
    assert list(op.iter_kernels()) == []


def test_a_repeated_tensor_call_asks_nothing():
    """A call like an earlier one runs its plan: no refusal, no entry, no selection."""
    kernel_type, noted = noting()
    op = op_with(a=kernel_type)
    for _ in range(3):
        op(torch.randn(2, 8))
    assert (noted.asked, noted.entered, noted.built) == ([8], [8], [8])
    assert noted.launched == [8, 8, 8]


def test_eight_threads_build_once():
    """Threads that miss the same entry at once wait for one build and share it."""
    kernel_type, noted = noting(delay=0.05)
    op = op_with(a=kernel_type)
    kernels, errors = in_threads(8, lambda: op.kernel_for("layer_norm", spec()))
    assert errors == []
    assert noted.built == [8]
    assert len(kernels) == 8
    assert len({id(kernel) for kernel in kernels}) == 1


def test_eight_threads_call_and_build_once():
    """The same through tensors: every thread gets its result and one kernel is built."""
    kernel_type, noted = noting(delay=0.05)
    op, x = op_with(a=kernel_type), torch.randn(2, 8)
    results, errors = in_threads(8, lambda: op(x))
    assert errors == []
    assert noted.built == [8]
    for y in results:
        torch.testing.assert_close(y, F.layer_norm(x, (8,)))


def test_different_entries_build_in_parallel():
    """A slow build does not hold up another one: each of these waits for the other to start."""
    both = threading.Barrier(2)

    class Waiting(noting()[0]):
        def __init__(self, call):
            both.wait(10)
            super().__init__(call)

    op, widths = op_with(a=Waiting), iter([8, 16])
    _, errors = in_threads(2, lambda: op.kernel_for("layer_norm", spec(n=next(widths))))
    assert errors == []


def test_failed_build_is_not_kept():
    """A factory's error reaches the caller as it is, and the next call builds."""
    kernel_type, noted = noting()
    noted.fails = 1
    op = op_with(a=kernel_type)
    with pytest.raises(OSError, match="the compiler failed"):
        op.kernel_for("layer_norm", spec())
    assert list(op.iter_kernels()) == []
    op.kernel_for("layer_norm", spec())
    assert noted.built == [8]


def test_failed_tensor_call_is_not_kept():
    """After a failed first call the same call works."""
    kernel_type, noted = noting()
    noted.fails = 1
    op, x = op_with(a=kernel_type), torch.randn(2, 8)
    with pytest.raises(OSError, match="the compiler failed"):
        op(x)
    torch.testing.assert_close(op(x), F.layer_norm(x, (8,)))


def test_threads_behind_a_failed_build_try_again():
    """One build fails; the next thread builds, and the others share that kernel."""
    kernel_type, noted = noting(delay=0.02)
    noted.fails = 1
    op = op_with(a=kernel_type)
    kernels, errors = in_threads(8, lambda: op.kernel_for("layer_norm", spec()))
    assert [type(error) for error in errors] == [OSError]
    assert noted.built == [8]
    assert len(kernels) == 7


def test_failed_selection_is_not_kept():
    """A call that no key served is judged again the next time."""
    kernel_type, noted = noting()
    noted.serves = False
    op = op_with(a=kernel_type)
    for _ in range(2):
        with pytest.raises(UnservedCallError):
            op.kernel_for("layer_norm", spec())
    noted.serves = True
    assert op.kernel_for("layer_norm", spec()) is op.kernel_for("layer_norm", spec())
    assert noted.asked == [8, 8, 8]


def test_a_hit_reads_no_device():
    """Once its kernel is built a call is served although the device cannot be read any more."""
    device, before = torch.device("privateuseone", 0), READERS.snapshot()
    kernel_type, _ = noting(device="privateuseone", archs=[7])
    op = op_with(a=kernel_type)
    READERS.register("privateuseone", lambda device: DeviceFacts(arch=7))
    try:
        kernel = op.kernel_for("layer_norm", spec(device=device))
    finally:
        READERS.restore(before)
    assert op.kernel_for("layer_norm", spec(device=device)) is kernel
    with pytest.raises(UnservedCallError):
        op.kernel_for("layer_norm", spec(n=16, device=device))


def test_iter_kernels():
    """Built kernels come in the order they were built, with interface, identity and device."""
    kernel_type, _ = noting()
    op = op_with(a=kernel_type)
    kernels = [op.kernel_for("layer_norm", spec(n=n)) for n in (16, 8)]
    built = list(op.iter_kernels())
    assert [one.kernel for one in built] == kernels
    assert [(one.interface, one.identity, one.device) for one in built] == [
        ("layer_norm", 16, CPU),
        ("layer_norm", 8, CPU),
    ]


# Tuned mode.


def test_request_tune_reaches_built_and_later_kernels():
    """Existing kernels are tuned at once, later ones before their first launch, each once."""
    kernel_type, noted = noting()
    op = op_with(a=kernel_type)
    op.kernel_for("layer_norm", spec(n=16))
    op.kernel_for("layer_norm", spec(n=32))
    assert noted.tuned == []
    op.request_tune()
    assert noted.tuned == [16, 32]
    op(torch.randn(2, 8))
    assert noted.tuned == [16, 32, 8]
    assert op.kernel_config() == ("tuned", "tuned", "tuned")


def test_a_later_kernel_is_tuned_before_its_first_launch():
    """In tuned mode no call runs an untuned configuration."""
    kernel_type, noted = noting()
    seen = []
    kernel_type.forward = lambda self, x, weight, bias: seen.append(self.config) or x.clone()
    op = op_with(a=kernel_type)
    op.request_tune()
    op(torch.randn(2, 8))
    assert seen == ["tuned"]
    assert noted.tuned == [8]


def test_request_tune_is_idempotent():
    """Asking again, and calling again, tunes nothing twice."""
    kernel_type, noted = noting()
    op = op_with(a=kernel_type)
    for _ in range(3):
        op.request_tune()
        op(torch.randn(2, 8))
        op.kernel_for("layer_norm", spec(eps=1e-3))
    assert noted.tuned == [8]


def test_threads_tune_once():
    """Requests and calls from many threads tune a kernel once."""
    kernel_type, noted = noting(delay=0.02)
    op = op_with(a=kernel_type)

    def act():
        op.request_tune()
        return op.kernel_for("layer_norm", spec())

    _, errors = in_threads(8, act)
    assert errors == []
    assert (noted.built, noted.tuned) == ([8], [8])


def test_kernel_without_tuning_candidates():
    """A kernel that has nothing to tune ignores the request."""
    op = LocalLayerNorm(8)
    x = torch.randn(2, 8, device=run_device())
    op.request_tune()
    torch.testing.assert_close(op(x), F.layer_norm(x, (8,)))
    assert op.kernel_config() == (None,)


def test_tuning_changes_neither_selection_nor_entries():
    """The same key and the same kernel serve a call before and after."""
    narrow, _ = noting(name="Narrow")
    wide, _ = noting(name="Wide")
    narrow.preferred_over = frozenset({"wide"})
    op = op_with(narrow=narrow, wide=wide)
    before, kernel = op.explain("layer_norm", spec()), op.kernel_for("layer_norm", spec())
    entries = list(op.iter_kernels())
    op.request_tune()
    assert op.explain("layer_norm", spec()) == before
    assert op.kernel_for("layer_norm", spec()) is kernel
    assert list(op.iter_kernels()) == entries


def test_failing_tuner_of_a_built_kernel():
    """The error reaches who asked, the others are tuned, the op works and the next request retries."""
    kernel_type, noted = noting()
    op, x = op_with(a=kernel_type), torch.randn(2, 8)
    op(x)
    op.kernel_for("layer_norm", spec(n=16))
    noted.tuner_fails = 1
    with pytest.raises(ArithmeticError, match="the tuner failed"):
        op.request_tune()
    assert noted.tuned == [16]
    torch.testing.assert_close(op(x), F.layer_norm(x, (8,)))
    op.request_tune()
    assert noted.tuned == [16, 8]
    assert noted.built == [8, 16]


def test_several_failing_tuners():
    """Every failure is reported."""
    kernel_type, noted = noting()
    op = op_with(a=kernel_type)
    for n in (8, 16, 32):
        op.kernel_for("layer_norm", spec(n=n))
    noted.tuner_fails = 2
    with pytest.raises(ExceptionGroup) as caught:
        op.request_tune()
    assert [type(error) for error in caught.value.exceptions] == [ArithmeticError] * 2
    assert noted.tuned == [32]


@pytest.mark.parametrize("ask", ["tensors", "kernel_for"])
def test_failing_tuner_of_a_later_kernel(ask):
    """The call that would launch it fails; the next one tunes again, without another build."""
    kernel_type, noted = noting()
    op, x = op_with(a=kernel_type), torch.randn(2, 8)
    act = (lambda: op(x)) if ask == "tensors" else (lambda: op.kernel_for("layer_norm", spec()))
    op.request_tune()
    noted.tuner_fails = 2
    for _ in range(2):
        with pytest.raises(ArithmeticError, match="the tuner failed"):
            act()
    act()
    assert (noted.built, noted.tuned) == ([8], [8])
    torch.testing.assert_close(op(x), F.layer_norm(x, (8,)))
