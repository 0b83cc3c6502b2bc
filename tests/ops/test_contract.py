"""What a class must satisfy to stand under a key of an op; everything else stops construction."""

from abc import abstractmethod

import pytest
import torch

from scale_family import (
    TWO,
    OnCuda,
    OverB,
    ScaleCall,
    ScaleFwdInterface,
    ScaleKernel,
    TwoMethodFwdInterface,
    WorkspaceKernel,
    check_round_trip,
    op_of,
)
from tileops import errors
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel


class NoRequestFwdInterface(KernelInterface):
    @abstractmethod
    def forward(self, x: torch.Tensor) -> torch.Tensor: ...


class BadRequestFwdInterface(NoRequestFwdInterface):
    request = int  # tileops: ignore[interface-request] -- what is to be refused


class RefusalAsMethod(ScaleKernel):
    def refusal(self, call):
        return None


class EntryAsStatic(ScaleKernel):
    @staticmethod
    def entry_for(call):
        return call, ScaleKernel


class EntryAsMethod(ScaleKernel):
    def entry_for(self, call):
        return call, ScaleKernel


class WithoutForward(Kernel, ScaleFwdInterface):
    devices = frozenset({"cpu"})


class WithoutWorkspace(Kernel, TwoMethodFwdInterface):
    def forward(self, x):
        return x


class TwoDevices(ScaleKernel):
    devices = frozenset({"cuda", "cpu"})
    supported_archs = [90]


class NoDeviceWithArchs(ScaleKernel):
    devices = frozenset()
    supported_archs = [90]


class DevicesAsString(ScaleKernel):
    devices = "cuda"


class DevicesAsList(ScaleKernel):
    devices = ["cuda"]


class DevicesOfNumbers(ScaleKernel):
    devices = frozenset({0})


class ArchsAsInt(OnCuda):
    supported_archs = 90


class ArchsAsString(OnCuda):
    supported_archs = "90"


class ArchsOfStrings(OnCuda):
    supported_archs = ["sm_90"]


class ArchsOfBools(OnCuda):
    supported_archs = [True]


class ForwardOfNone(ScaleKernel):
    forward = None


class ForwardOfNumber(ScaleKernel):
    forward = 3


class ForwardOfProperty(ScaleKernel):
    @property
    def forward(self):
        return lambda x, factor: x


class ForwardOfBuiltin(ScaleKernel):
    forward = max


class TwoParameters(ScaleKernel):
    def forward(self, x):
        return x


class GeneralByName(ScaleKernel):
    general = "no"


class NoneRequestFwdInterface(KernelInterface):
    request = ScaleCall
    forward = None  # tileops: ignore[interface-forward-abstract] -- what is to be refused


class OverItself(ScaleKernel):
    preferred_over = frozenset({"a"})


class OverNobody(ScaleKernel):
    preferred_over = frozenset({"nobody"})


class GeneralOverB(ScaleKernel):
    general = True
    preferred_over = frozenset({"b"})


class OverAsString(ScaleKernel):
    preferred_over = "b"


CONSTRUCTION = [
    *(
        pytest.param(
            {"a": one},
            None,
            "ForwardSignatureError",
            f"{one.__name__}.forward does not take ScaleFwdInterface's arguments (x, factor); "
            f"it is forward{given}",
            id=f"forward-{region}",
        )
        for one, given, region in (
            (ForwardOfNone, " = None", "none"),
            (ForwardOfNumber, " = 3", "number"),
            (ForwardOfProperty, " = <property", "property"),
            (ForwardOfBuiltin, " = <built-in function max>", "builtin"),
            (TwoParameters, "(self, x)", "too-few"),
        )
    ),
    pytest.param(
        {"a": GeneralByName},
        None,
        "GeneralFormError",
        "states general = 'no'; write True or False",
        id="general-text",
    ),
    pytest.param(
        {},
        {"scale": NoneRequestFwdInterface},
        "InterfaceDeclarationError",
        "whose forward is None; it must be a method",
        id="interface-forward-none",
    ),
    pytest.param(
        {"a": RefusalAsMethod},
        None,
        "NotAClassmethodError",
        "RefusalAsMethod.refusal is not a class method",
        id="refusal-method",
    ),
    pytest.param(
        {"a": EntryAsStatic},
        None,
        "NotAClassmethodError",
        "EntryAsStatic.entry_for is not a class method",
        id="entry-for-static",
    ),
    pytest.param(
        {"a": EntryAsMethod},
        None,
        "NotAClassmethodError",
        "EntryAsMethod.entry_for is not a class method",
        id="entry-for-method",
    ),
    pytest.param({"a": WithoutForward}, None, "AbstractKernelError", "forward", id="no-forward"),
    pytest.param(
        {"a": WithoutWorkspace},
        TWO,
        "AbstractKernelError",
        "leaves TwoMethodFwdInterface's abstract workspace unimplemented",
        id="second-abstract-method",
    ),
    pytest.param(
        {"a": TwoDevices},
        None,
        "ArchsNeedOneDeviceError",
        "runs on cpu, cuda",
        id="archs-of-two-devices",
    ),
    pytest.param(
        {"a": NoDeviceWithArchs},
        None,
        "ArchsNeedOneDeviceError",
        "no device type",
        id="archs-of-no-device",
    ),
    pytest.param(
        {"a": DevicesAsString},
        None,
        "AvailabilityFormError",
        "devices = 'cuda'",
        id="devices-string",
    ),
    pytest.param(
        {"a": DevicesAsList}, None, "AvailabilityFormError", "devices = ['cuda']", id="devices-list"
    ),
    pytest.param(
        {"a": DevicesOfNumbers},
        None,
        "AvailabilityFormError",
        "devices = frozenset({0})",
        id="devices-numbers",
    ),
    pytest.param(
        {"a": ArchsAsInt}, None, "AvailabilityFormError", "supported_archs = 90", id="archs-int"
    ),
    pytest.param(
        {"a": ArchsAsString},
        None,
        "AvailabilityFormError",
        "supported_archs = '90'",
        id="archs-string",
    ),
    pytest.param(
        {"a": ArchsOfStrings},
        None,
        "AvailabilityFormError",
        "supported_archs = ['sm_90']",
        id="archs-of-strings",
    ),
    pytest.param(
        {"a": ArchsOfBools},
        None,
        "AvailabilityFormError",
        "supported_archs = [True]",
        id="archs-of-bools",
    ),
    pytest.param(
        {"a": OverItself}, None, "PreferenceError", "names itself", id="preferred-over-itself"
    ),
    pytest.param(
        {"a": OverNobody},
        None,
        "PreferenceError",
        "'nobody' is no key of this interface",
        id="preferred-over-unknown",
    ),
    pytest.param(
        {"a": OverB, "b": WorkspaceKernel},
        TWO,
        "PreferenceError",
        "'b' is no key of this interface",
        id="preferred-over-key-of-another-interface",
    ),
    pytest.param(
        {"a": GeneralOverB, "b": ScaleKernel},
        None,
        "PreferenceError",
        "it is general",
        id="preferred-over-on-the-general-one",
    ),
    pytest.param(
        {"a": OverAsString, "b": ScaleKernel},
        None,
        "PreferenceError",
        "not a frozenset of keys",
        id="preferred-over-string",
    ),
    pytest.param(
        {"a": ScaleKernel},
        {},
        "UndeclaredInterfacesError",
        "declare interfaces instead",
        id="no-interfaces",
    ),
    pytest.param(
        {},
        {"scale": ScaleCall},
        "InterfaceDeclarationError",
        "no subclass of KernelInterface",
        id="interface-is-a-spec",
    ),
    pytest.param(
        {},
        {"scale": "ScaleFwdInterface"},
        "InterfaceDeclarationError",
        "no subclass of KernelInterface",
        id="interface-is-a-name",
    ),
    pytest.param(
        {},
        {"scale": ScaleKernel},
        "InterfaceDeclarationError",
        "an implementation, not an interface",
        id="interface-is-a-kernel",
    ),
    pytest.param(
        {},
        {"scale": NoRequestFwdInterface},
        "InterfaceDeclarationError",
        "it must be a CallSpec subclass",
        id="interface-without-request",
    ),
    pytest.param(
        {},
        {"scale": BadRequestFwdInterface},
        "InterfaceDeclarationError",
        "whose request is <class 'int'>",
        id="request-is-no-spec",
    ),
    pytest.param(
        {"a": "ScaleKernel"},
        None,
        "UnknownKernelInterfaceError",
        "a keys implement none",
        id="kernel-is-a-name",
    ),
    pytest.param(
        {"a": WorkspaceKernel},
        None,
        "UnknownKernelInterfaceError",
        "a keys implement none",
        id="kernel-of-another-interface",
    ),
]

BASES = {
    "NotAClassmethodError": TypeError,
    "AbstractKernelError": TypeError,
    "AvailabilityFormError": TypeError,
    "GeneralFormError": TypeError,
    "InterfaceDeclarationError": TypeError,
    "ArchsNeedOneDeviceError": ValueError,
    "ForwardSignatureError": TypeError,
    "PreferenceError": ValueError,
    "UndeclaredInterfacesError": ValueError,
    "UnknownKernelInterfaceError": ValueError,
}


@pytest.mark.parametrize(("kernel_types", "interfaces", "name", "fragment"), CONSTRUCTION)
def test_construction(kernel_types, interfaces, name, fragment):
    """A class, key or interface that breaks the contract stops the op's construction."""
    with pytest.raises(errors.DispatchError) as caught:
        op_of(interfaces, **kernel_types)()
    assert type(caught.value) is getattr(errors, name)
    assert isinstance(caught.value, BASES[name])
    assert fragment in str(caught.value)
    assert str(caught.value).startswith("ScaleFwdOp")
    check_round_trip(caught.value)


@pytest.mark.parametrize("member", ["kernel_types", "interfaces"])
@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="none"),
        pytest.param([ScaleKernel], id="list"),
        pytest.param({1: ScaleKernel}, id="number"),
        pytest.param({"": ScaleKernel}, id="empty-name"),
        pytest.param({"a": ScaleKernel, None: ScaleKernel}, id="one-of-two"),
    ],
)
def test_tables_are_mappings_of_names(member, value):
    """Anything else is named before a class in it is looked at."""
    kind = type("ScaleFwdOp", (op_of(a=ScaleKernel),), {member: value})
    with pytest.raises(errors.DeclarationFormError, match=f"ScaleFwdOp states {member} = "):
        kind()
