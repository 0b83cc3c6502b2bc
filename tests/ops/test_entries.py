"""Entries: kernels are built once, found again, and never kept when they failed."""

import threading

import pytest
import torch
import torch.nn.functional as F
from noting import in_threads, noting, op_with, spec

from scale_family import (
    ScaleCall,
    ScaleKernel,
    op_of,
)
from tileops import errors
from tileops.device import READERS, DeviceFacts
from tileops.errors import (
    UnservedCallError,
)
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.call_spec import LayerNormFwdInterface


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
    assert [built.device for built in op.iter_kernels()] == [
        torch.device("cpu"),
        torch.device("meta"),
    ]


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
        noted.asked.clear()
        with pytest.raises(UnservedCallError):
            op.kernel_for("layer_norm", spec())
        assert noted.asked
    noted.serves = True
    noted.asked.clear()
    assert op.kernel_for("layer_norm", spec()) is op.kernel_for("layer_norm", spec())
    assert noted.asked == [8]


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


@pytest.mark.gpu
def test_the_current_device_is_meant_without_an_index():
    """No device, cuda and the current device by index are one device, and one build."""
    kernel_type, noted = noting(device="cuda", archs=list(range(200)))
    op = op_with(a=kernel_type)
    current = torch.cuda.current_device()
    kernels = {
        id(op.kernel_for("layer_norm", spec(device=device)))
        for device in (None, "cuda", f"cuda:{current}")
    }
    assert len(kernels) == 1
    assert noted.built == [8]
    (built,) = op.iter_kernels()
    assert built.device == torch.device("cuda", current)


@pytest.mark.gpu
def test_kernels_are_built_and_tuned_with_their_device_current():
    """Building and tuning happen with the call's device current, not the caller's."""
    last, seen = torch.cuda.device_count() - 1, []
    kernel_type, _ = noting(device="cuda", archs=list(range(200)))
    kernel_type.request_tune = lambda self: seen.append(torch.cuda.current_device())
    kernel_type.__init__ = lambda self, call: seen.append(torch.cuda.current_device())
    op = op_with(a=kernel_type)
    with torch.cuda.device(0):
        op.kernel_for("layer_norm", spec(device=f"cuda:{last}"))
        op.request_tune()
    assert seen == [last, last]


def test_iter_kernels():
    """Built kernels come in the order they were built, with interface, identity and device."""
    kernel_type, _ = noting()
    op = op_with(a=kernel_type)
    kernels = [op.kernel_for("layer_norm", spec(n=n)) for n in (16, 8)]
    built = list(op.iter_kernels())
    assert [one.kernel for one in built] == kernels
    assert [(one.interface, one.identity, one.device) for one in built] == [
        ("layer_norm", 16, torch.device("cpu")),
        ("layer_norm", 8, torch.device("cpu")),
    ]


def test_a_build_that_asks_for_itself():
    """It recurses, which Python stops, and does not wait for itself for ever."""
    kernel_type, _ = noting()
    op = op_with(a=kernel_type)
    kernel_type.entry_for = classmethod(
        lambda cls, call: (call.n, lambda: op.kernel_for("layer_norm", call))
    )
    with pytest.raises(RecursionError):
        op.kernel_for("layer_norm", spec())


def test_a_build_that_asks_for_another():
    """A kernel may be made of other kernels of its op."""
    kernel_type, noted = noting()
    op = op_with(a=kernel_type)
    built = kernel_type.entry_for

    def entry_for(cls, call):
        identity, factory = built(call)

        def build():
            if call.n > 1:
                op.kernel_for("layer_norm", spec(call.n // 2))
            return factory()

        return identity, build

    kernel_type.entry_for = classmethod(entry_for)
    op.kernel_for("layer_norm", spec(8))
    assert noted.built == [1, 2, 4, 8]


class NoPair(ScaleKernel):
    @classmethod
    def entry_for(cls, call):
        return cls(call)


class Triple(ScaleKernel):
    @classmethod
    def entry_for(cls, call):
        return call, cls, None


class ListPair(ScaleKernel):
    @classmethod
    def entry_for(cls, call):
        return [call, cls]


class Unhashable(ScaleKernel):
    @classmethod
    def entry_for(cls, call):
        return (call.n, [call.dtype]), cls


class Hostile:
    def __hash__(self):
        raise ArithmeticError("no hash today")

    def __repr__(self):
        raise OSError("and no name")


class HostileIdentity(ScaleKernel):
    @classmethod
    def entry_for(cls, call):
        return Hostile(), cls


class HostileFactory(ScaleKernel):
    @classmethod
    def entry_for(cls, call):
        return call.n, Hostile()


class KernelAsFactory(ScaleKernel):
    @classmethod
    def entry_for(cls, call):
        return call.n, None


@pytest.mark.parametrize(
    ("kernel_type", "name", "fragment"),
    [
        pytest.param(NoPair, "EntryShapeError", "NoPair.entry_for returned", id="no-pair"),
        pytest.param(Triple, "EntryShapeError", "return the pair", id="triple"),
        pytest.param(ListPair, "EntryShapeError", "return the pair", id="list"),
        pytest.param(Unhashable, "BuildIdentityError", "(4, [torch.float16])", id="unhashable"),
        pytest.param(
            HostileIdentity,
            "BuildIdentityError",
            "the build identity <Hostile, whose repr raises OSError>, which cannot be hashed",
            id="hash-raises",
        ),
        pytest.param(
            HostileFactory, "FactoryError", "<Hostile, whose repr raises OSError>", id="repr-raises"
        ),
        pytest.param(KernelAsFactory, "FactoryError", "None as its factory", id="not-callable"),
    ],
)
def test_bad_entries(kernel_type, name, fragment):
    """What entry_for must return is checked at the first build, not before, and each time."""
    op, call = op_of(a=kernel_type)(), ScaleCall("cpu", n=4)
    assert op.key_for("scale", call) == "a"
    for _ in range(2):
        with pytest.raises(errors.DispatchError) as caught:
            op.kernel_for("scale", call)
        assert type(caught.value) is getattr(errors, name)
        assert isinstance(caught.value, TypeError)
        assert fragment in str(caught.value)
        assert caught.value.implementation == kernel_type.__name__
    assert list(op.iter_kernels()) == []
