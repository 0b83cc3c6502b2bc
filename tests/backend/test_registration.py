"""What may be registered, and what is turned away, naming both claimants."""

from __future__ import annotations

import inspect

import pytest
import torch
from probe import Builder, ProbeKernel, probe_op, registry_of

from tileops import backend
from tileops.backend import BUILTIN
from tileops.errors import BackendError


def never(device):
    return False


WRONG = [
    pytest.param(
        "register_kernel_type",
        ("ProbFwdOp", "x", ProbeKernel),
        "no op 'ProbFwdOp'; did you mean ProbeFwdOp",
        id="kernel-op-mistyped",
    ),
    pytest.param("register_detector", ("", never), "target must be a name", id="target-empty"),
    pytest.param("register_detector", (None, never), "target must be a name", id="target-none"),
    pytest.param(
        "register_detector", (BUILTIN, never), "'builtin' names the in-tree", id="target-builtin"
    ),
    pytest.param("register_detector", ("acme", True), "not callable", id="detector-no-function"),
    pytest.param(
        "register_kernel_builder",
        ("ProbFwdOp", "acme", Builder()),
        "did you mean ProbeFwdOp",
        id="builder-op-mistyped",
    ),
    pytest.param(
        "register_kernel_builder",
        ("ProbeFwdOp", BUILTIN, Builder()),
        "names the in-tree kernels",
        id="builder-builtin",
    ),
    pytest.param(
        "register_kernel_builder", ("ProbeFwdOp", "acme", None), "not callable", id="no-builder"
    ),
    pytest.param("set_default_target", ("",), "no target name", id="default-empty"),
    pytest.param("set_default_target", (3,), "no target name", id="default-a-number"),
    pytest.param(
        "register_device_facts", ("cuda", never), "reads CUDA devices itself", id="facts-of-cuda"
    ),
]


@pytest.mark.parametrize(("function", "arguments", "text"), WRONG)
def test_a_wrong_registration(registry, function, arguments, text):
    """It is a BackendError at once that names the function, and nothing is registered."""
    with pytest.raises(BackendError, match=function) as caught:
        getattr(registry, function)(*arguments)
    assert text in str(caught.value)
    assert all(table == {} for table in registry.tables)
    assert registry.default_target is None
    assert registry.readers.device_types == ("cuda",)


TWICE = [
    pytest.param("register_kernel_type", ("ProbeFwdOp", "x", ProbeKernel), id="key"),
    pytest.param("register_detector", ("acme", never), id="detector"),
    pytest.param("register_kernel_builder", ("ProbeFwdOp", "acme", Builder()), id="builder"),
    pytest.param("register_device_facts", ("xpu", never), id="facts"),
]


@pytest.mark.parametrize(("function", "arguments"), TWICE)
def test_registering_twice(site, function, arguments):
    """The second claimant is turned away, both are named, and the first stays."""
    names = {ProbeKernel: "ProbeKernel", never: "print"}
    spelled = ", ".join(
        names.get(one, "Builder()" if isinstance(one, Builder) else repr(one)) for one in arguments
    )
    site.install("first", f"from probe import Builder, ProbeKernel\n{function}({spelled})")
    site.registry.load()
    with pytest.raises(BackendError) as caught:
        getattr(site.registry, function)(*arguments)
    assert (
        f"first 1.0 has registered it already, and module {__name__} registers it again; "
        f"leave the call out of module {__name__}, or uninstall first"
    ) in str(caught.value)
    assert [one.claimant for table in site.registry.tables for one in table.values()] == [
        "first 1.0"
    ]


def test_one_name_under_two_ops_and_two_targets(registry):
    """Keys and builders are told apart by op, builders by target too."""
    registry.register_kernel_type("ProbeFwdOp", "x", ProbeKernel)
    registry.register_kernel_type("TwiceFwdOp", "x", ProbeKernel)
    registry.register_kernel_builder("ProbeFwdOp", "acme", Builder())
    registry.register_kernel_builder("TwiceFwdOp", "acme", Builder())
    registry.register_kernel_builder("ProbeFwdOp", "zeta", Builder())
    registry.register_detector("omega", never)
    assert registry.targets() == ("acme", "omega", "zeta")
    assert registry.targets_of("ProbeFwdOp") == ("acme", "zeta")


def test_the_default_registry_knows_the_ops_of_the_manifest():
    """The module's functions name the nearest op of the library."""
    with pytest.raises(BackendError, match="did you mean LayerNormFwdOp"):
        backend.register_kernel_type("LayerNormFwd", "x", ProbeKernel)


@pytest.mark.parametrize(
    ("name", "others"),
    [
        pytest.param("register_kernel_type", ["op", "key", "kernel_type"], id="kernel-type"),
        pytest.param("register_detector", ["target", "detect"], id="detector"),
        pytest.param("register_kernel_builder", ["op", "target", "build_kernel"], id="builder"),
    ],
)
def test_the_functions_take_the_documented_keywords(name, others):
    """The parameters are named as the documentation calls them."""
    assert list(inspect.signature(getattr(backend, name)).parameters) == others


def test_registries_are_apart():
    """What one registry holds no op of another sees."""
    one, other = registry_of(), registry_of()
    one.register_detector("acme", lambda device: True)
    one.register_kernel_builder("ProbeFwdOp", "acme", Builder())
    assert probe_op(one)()(torch.ones(2)).tolist() == [102.0, 102.0]
    assert probe_op(other)()(torch.ones(2)).tolist() == [2.0, 2.0]
