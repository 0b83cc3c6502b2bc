"""register_device_facts: what selection knows of a device type other than CUDA."""

from __future__ import annotations

import pytest
import torch
from probe import ProbeCall, ProbeKernel, probe_op, registry_of

from tileops.backend import BUILTIN, DeviceFacts
from tileops.device import READERS
from tileops.errors import BackendError

X = torch.ones(4)


class NeedsArch7(ProbeKernel):
    """An implementation for one architecture of a CPU."""

    supported_archs = [7]
    preferred_over = frozenset({"probe"})


class NeedsCores(ProbeKernel):
    preferred_over = frozenset({"probe"})

    @classmethod
    def refusal(cls, call):
        return None if (call.sm_count or 0) >= 4 else f"serves 4 cores or more, got {call.sm_count}"


@pytest.fixture
def facts_registry():
    """A registry that writes the readers which call specs ask, as the default one does."""
    before = READERS.snapshot()
    registry = registry_of()
    registry.readers = READERS
    yield registry
    READERS.restore(before)


def op_with(registry, kernel_type):
    """Return an op with this implementation beside its own."""
    registry.register_kernel_type("ProbeFwdOp", "special", kernel_type)
    return probe_op(registry)()


@pytest.mark.parametrize(
    ("kernel_type", "facts", "key"),
    [
        pytest.param(NeedsArch7, DeviceFacts(arch=7), "special", id="arch"),
        pytest.param(NeedsArch7, DeviceFacts(arch=8), "probe", id="another-arch"),
        pytest.param(NeedsArch7, DeviceFacts(), "probe", id="arch-not-told"),
        pytest.param(NeedsArch7, None, "probe", id="no-reader-no-arch"),
        pytest.param(NeedsCores, DeviceFacts(sm_count=4), "special", id="cores"),
        pytest.param(NeedsCores, DeviceFacts(sm_count=3), "probe", id="too-few-cores"),
        pytest.param(NeedsCores, None, "probe", id="no-reader-no-cores"),
    ],
)
def test_facts_decide(facts_registry, kernel_type, facts, key):
    """Availability and refusals read the facts of the registered reader."""
    if facts is not None:
        facts_registry.register_device_facts("cpu", lambda device: facts)
    op = op_with(facts_registry, kernel_type)
    assert op.key_for("probe", ProbeCall("cpu", n=4)) == key
    assert op(X).tolist() == [2.0] * 4


def nonsense(device):
    return {"arch": 7}


def raising(device):
    raise OSError("no driver")


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        pytest.param(nonsense, "instead of DeviceFacts", id="nonsense"),
        pytest.param(raising, "no driver", id="raises"),
    ],
)
@pytest.mark.parametrize("kernel_type", [NeedsArch7, NeedsCores])
def test_a_reader_at_fault(facts_registry, reader, text, kernel_type):
    """The call that needs the facts fails, naming device and reader; others go on."""
    facts_registry.register_device_facts("cpu", reader)
    plain = probe_op(registry_of())()
    op = op_with(facts_registry, kernel_type)
    with pytest.raises(BackendError, match=text) as caught:
        op(X)
    assert "facts of cpu" in str(caught.value)
    assert f"its reader {__name__}.{reader.__name__} " in str(caught.value)
    assert op.serving_target is None
    assert plain(X).tolist() == [2.0] * 4
    assert plain.serving_target == BUILTIN


def test_a_reader_at_fault_does_not_matter_to_a_target(facts_registry):
    """A target is chosen and built without device facts."""
    facts_registry.register_device_facts("cpu", raising)
    facts_registry.register_kernel_builder(
        "ProbeFwdOp", "acme", lambda x, bias, **params: lambda x, bias: x + 1
    )
    op = probe_op(facts_registry)(target="acme")
    assert op(X).tolist() == [2.0] * 4


def test_a_reader_is_undone_with_its_backend(site):
    """Facts told by a backend that failed to load are forgotten."""
    site.install(
        "bad",
        "from tileops.backend import DeviceFacts\n"
        "register_device_facts('xpu', lambda device: DeviceFacts(arch=7))\n"
        "raise ValueError('half way')",
    )
    with pytest.warns(RuntimeWarning):
        site.registry.load()
    assert site.registry.readers.facts_of(torch.device("xpu:0")) == DeviceFacts()
    site.registry.register_device_facts("xpu", lambda device: DeviceFacts(arch=8))
    assert site.registry.readers.facts_of(torch.device("xpu:0")) == DeviceFacts(arch=8)
