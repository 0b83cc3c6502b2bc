"""Ops and their kernels: the inventory, added implementations, entries, tuning, threads."""

import importlib
import pkgutil
from abc import abstractmethod
from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F

import tileops.ops
from tileops.backend import Registry
from tileops.errors import (
    OpNotAvailableError,
    UndeclaredInterfacesError,
    UnservedCallError,
)
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.call_spec import LayerNormCall, LayerNormFwdInterface
from tileops.kernels.norm.layer_norm import LayerNormKernel
from tileops.ops.norm.layer_norm import LayerNormFwdOp
from tileops.ops.op import Op


def run_device() -> torch.device:
    """Return the device that the tests' own implementations run on: CUDA, or the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def registry_for(*ops: str) -> Registry:
    """Return an empty registry that knows *ops* and loads no installed backend."""
    return Registry(known_ops=lambda: set(ops), entry_points=tuple)


# Tuned mode.


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
