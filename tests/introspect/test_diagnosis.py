"""What a diagnosis says of registries that tests make."""

from __future__ import annotations

import pytest

from tileops.backend import DeviceFacts, Registry
from tileops.introspect.diagnosis import TargetState, diagnose


def raising(device):
    raise OSError("no driver")


def claiming(*types):
    return lambda device: device.type in types


@pytest.fixture
def registry():
    """A registry that loads nothing."""
    return Registry(entry_points=tuple)


def here(registry):
    """Return the module that the registrations of these tests are attributed to."""
    return (f"module {__name__}",)


def test_two_detectors_that_claim_one_device(registry):
    """Both targets name the other, and the installation is not healthy."""
    registry.register_detector("b", claiming("cpu"))
    registry.register_detector("a", claiming("cpu", "cuda"))
    registry.register_detector("c", claiming("xpu"))
    found = diagnose(registry)
    a, b, c = found.targets
    assert "as b does" in a.problem
    assert "cpu" in a.problem
    assert "as a does" in b.problem
    assert c == TargetState("c", here(registry), (), (), None)
    assert not found.healthy


def test_a_detector_that_raises(registry):
    """It is the target's problem; the others are described."""
    registry.register_detector("a", raising)
    registry.register_detector("b", claiming("xpu"))
    found = diagnose(registry)
    assert found.targets[0].problem == "its detector raised OSError('no driver') for cpu"
    assert found.targets[1].problem is None
    assert not found.healthy


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        pytest.param(raising, f"{__name__}.raising raised OSError('no driver')", id="raises"),
        pytest.param(lambda device: 7, "returned 7 instead of DeviceFacts", id="nonsense"),
    ],
)
def test_a_device_whose_facts_cannot_be_read(registry, reader, text):
    """The report says which device, and why."""
    registry.register_device_facts("cpu", reader)
    found = diagnose(registry)
    assert found.devices[0].device == "cpu"
    assert found.devices[0].facts is None
    assert text in found.devices[0].problem
    assert not found.healthy


def test_a_healthy_installation(registry):
    """Targets without a detector are listed with the ops they serve, and the default is told."""
    registry.register_kernel_builder("LayerNormFwdOp", "acme", print)
    registry.register_device_facts("cpu", lambda device: DeviceFacts(sm_count=3))
    registry.set_default_target("acme")
    found = diagnose(registry)
    assert found.targets == (TargetState("acme", here(registry), ("LayerNormFwdOp",), None),)
    assert found.default_target == "acme"
    assert found.devices[0].facts.sm_count == 3
    assert found.healthy
    (backend,) = found.backends
    assert backend.builders == ("LayerNormFwdOp: acme",)
    assert backend.device_facts == ("cpu",)


def test_caches_are_counted(registry, tmp_path, monkeypatch):
    """The folder of compiled programs, its files and their bytes."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "one").write_bytes(b"12345")
    (tmp_path / "two").write_bytes(b"123")
    monkeypatch.setenv("TILELANG_CACHE_DIR", str(tmp_path))
    (cache,) = diagnose(registry).caches
    assert (cache.files, cache.size) == (2, 8)
