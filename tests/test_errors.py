"""Every error of constructing, asking and building: class, bases, sentence, fields, pickling.

The table follows the specification's "Common errors" row by row.
"""

import copy
import dataclasses
import pickle
import shlex
from abc import abstractmethod
from typing import Annotated, Any

import pytest
import torch

from tileops import errors
from tileops.backend import Registry
from tileops.call_spec import CallSpec, Range
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.ops.op import Op
from tileops.selection import Outcome


@dataclasses.dataclass(frozen=True)
class ScaleCall(CallSpec):
    n: Annotated[int, Range(1, 4096)] = 0
    dtype: torch.dtype = torch.float16
    extra: Any = None


@dataclasses.dataclass(frozen=True)
class OtherCall(CallSpec):
    n: int = 0


class ScaleFwdInterface(KernelInterface):
    request = ScaleCall

    @abstractmethod
    def forward(self, x: torch.Tensor, factor: torch.Tensor) -> torch.Tensor: ...


class TwoMethodFwdInterface(KernelInterface):
    request = ScaleCall

    @abstractmethod
    def forward(self, x: torch.Tensor) -> torch.Tensor: ...

    @abstractmethod
    def workspace(self) -> int: ...


class NoRequestFwdInterface(KernelInterface):
    @abstractmethod
    def forward(self, x: torch.Tensor) -> torch.Tensor: ...


class BadRequestFwdInterface(NoRequestFwdInterface):
    request = int


class ScaleKernel(Kernel, ScaleFwdInterface):
    devices = frozenset({"cpu"})

    def forward(self, x, factor):
        return x * factor


class PlainScale(ScaleFwdInterface):
    """Not a Kernel."""

    def forward(self, x, factor):
        return x


class NotEvenAScale(Kernel):
    def forward(self, x, factor):
        return x


class OneArgument(ScaleKernel):
    def forward(self, x):
        return x


class General(ScaleKernel):
    general = True


class OtherGeneral(ScaleKernel):
    general = True


class OverB(ScaleKernel):
    preferred_over = frozenset({"b"})


class OverA(ScaleKernel):
    preferred_over = frozenset({"a"})


class Narrow(ScaleKernel):
    @classmethod
    def refusal(cls, call):
        return None if call.n <= 256 else f"serves n <= 256, got {call.n}"


class OnCuda(ScaleKernel):
    devices = frozenset({"cuda"})
    supported_archs = [80, 90]


class Raising(ScaleKernel):
    @classmethod
    def refusal(cls, call):
        return None if call.batch == 1 else "serves batch 1"


def op_of(interfaces=None, **kernel_types):
    """Make an op class that holds *kernel_types*."""
    declared = {
        "kernel_types": kernel_types,
        "interfaces": {"scale": ScaleFwdInterface} if interfaces is None else interfaces,
        "registry": Registry(known_ops=lambda: {"ScaleFwdOp"}, entry_points=tuple),
    }
    return type("ScaleFwdOp", (Op,), declared)


def construct(**kernel_types):
    return lambda: op_of(**kernel_types)()


def key_for(call, **kernel_types):
    return lambda: op_of(**kernel_types)().key_for("scale", call)


def kernel_for(call, interface="scale", **kernel_types):
    return lambda: op_of(**kernel_types)().kernel_for(interface, call)


def stated(n, **facts):
    return ScaleCall(n=n, arch=90, **facts)


ON_CPU = ScaleCall(device="cpu", n=512)

TABLE_5 = [
    pytest.param(
        construct(a=PlainScale),
        "NotAKernelError",
        TypeError,
        ["does not implement ScaleFwdInterface", "'a' is PlainScale", "both Kernel and"],
        {"key": "a", "implementation": "PlainScale", "interface": "ScaleFwdInterface"},
        id="row-1",
    ),
    pytest.param(
        construct(a=OneArgument),
        "ForwardSignatureError",
        TypeError,
        ["forward does not take ScaleFwdInterface's arguments (x, factor)", "forward(self, x)"],
        {"key": "a", "implementation": "OneArgument"},
        id="row-2",
    ),
    pytest.param(
        construct(a=General, b=OtherGeneral),
        "SeveralGeneralError",
        ValueError,
        ["has more than one general implementation", "a, b", "'scale'"],
        {"op": "ScaleFwdOp", "interface": "scale", "keys": "a, b"},
        id="row-3",
    ),
    pytest.param(
        construct(a=OverB, b=OverA),
        "PreferenceCycleError",
        ValueError,
        ["preferences form a cycle through a -> b -> a"],
        {"interface": "scale", "cycle": "a -> b -> a"},
        id="row-4",
    ),
    pytest.param(
        construct(a=ScaleKernel, b=NotEvenAScale, c=NotEvenAScale),
        "UnknownKernelInterfaceError",
        ValueError,
        ["b, c keys implement none of its kernel interfaces", "ScaleFwdInterface"],
        {"keys": "b, c", "interfaces": "ScaleFwdInterface"},
        id="row-5",
    ),
    pytest.param(
        key_for(ON_CPU, a=OnCuda),
        "OpNotAvailableError",
        ValueError,
        ["in-tree kernels do not run on cpu", "'scale' has implementations for cuda"],
        {"op": "ScaleFwdOp", "interface": "scale"},
        id="row-6",
    ),
    pytest.param(
        key_for(ON_CPU, a=Narrow, b=OnCuda),
        "UnservedCallError",
        errors.OpNotAvailableError,
        [
            "no implementation serves this call",
            "a: serves n <= 256, got 512",
            "b: runs on cuda, got cpu",
        ],
        {"op": "ScaleFwdOp", "interface": "scale"},
        id="row-7",
    ),
    pytest.param(
        key_for(stated(4), a=OnCuda),
        None,
        None,
        [],
        {},
        id="row-7-counterpart-served",
    ),
    pytest.param(
        key_for(ScaleCall(n=4, arch=86), a=OnCuda),
        "UnservedCallError",
        ValueError,
        ["no implementation serves this call", "a: supports arch 80, 90, got 86"],
        {"interface": "scale"},
        id="row-7-arch",
    ),
    pytest.param(
        key_for(ScaleCall(device="cpu", n=4), a=Narrow, b=ScaleKernel),
        "AmbiguousDispatchError",
        RuntimeError,
        ["dispatch is ambiguous: a, b all serve", "preferred_over"],
        {"keys": "a, b", "interface": "scale"},
        id="row-8",
    ),
    pytest.param(
        kernel_for(OtherCall("cpu", n=4), a=ScaleKernel),
        "CallSpecTypeError",
        TypeError,
        ["takes a ScaleCall call spec, got OtherCall"],
        {"request": "ScaleCall", "given": "OtherCall"},
        id="row-9",
    ),
    pytest.param(
        key_for(CallSpec("cpu"), a=ScaleKernel),
        "CallSpecTypeError",
        TypeError,
        ["takes a ScaleCall call spec, got CallSpec"],
        {"request": "ScaleCall"},
        id="row-9-key-for",
    ),
    pytest.param(
        kernel_for(ScaleCall("cpu", n=4, extra=[1]), a=ScaleKernel),
        "UnkeyableFactError",
        TypeError,
        ["ScaleCall.extra is [1], which cannot key a dispatch cache", "a list is mutable"],
        {"spec": "ScaleCall", "field": "extra"},
        id="row-10",
    ),
    pytest.param(
        kernel_for(stated(4), a=OnCuda),
        "StatedFactsError",
        TypeError,
        ["this call spec states ['arch']", "Only key_for"],
        {"facts": ["arch"], "interface": "scale"},
        id="row-11",
    ),
    pytest.param(
        kernel_for(ScaleCall("cpu", n=4, sm_count=1, arch=7), a=ScaleKernel),
        "StatedFactsError",
        TypeError,
        ["this call spec states ['arch', 'sm_count']"],
        {"facts": ["arch", "sm_count"]},
        id="row-11-beside-a-device",
    ),
]


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


class OverItself(ScaleKernel):
    preferred_over = frozenset({"a"})


class OverNobody(ScaleKernel):
    preferred_over = frozenset({"nobody"})


class GeneralOverB(ScaleKernel):
    general = True
    preferred_over = frozenset({"b"})


class OverAsString(ScaleKernel):
    preferred_over = "b"


class WorkspaceKernel(Kernel, TwoMethodFwdInterface):
    def forward(self, x):
        return x

    def workspace(self):
        return 0


TWO = {"scale": ScaleFwdInterface, "two": TwoMethodFwdInterface}

CONSTRUCTION = [
    pytest.param({"a": RefusalAsMethod}, None, "NotAClassmethodError", "RefusalAsMethod.refusal is not a class method", id="refusal-method"),
    pytest.param({"a": EntryAsStatic}, None, "NotAClassmethodError", "EntryAsStatic.entry_for is not a class method", id="entry-for-static"),
    pytest.param({"a": EntryAsMethod}, None, "NotAClassmethodError", "EntryAsMethod.entry_for is not a class method", id="entry-for-method"),
    pytest.param({"a": WithoutForward}, None, "AbstractKernelError", "forward", id="no-forward"),
    pytest.param({"a": WithoutWorkspace}, TWO, "AbstractKernelError", "leaves TwoMethodFwdInterface's abstract workspace unimplemented", id="second-abstract-method"),
    pytest.param({"a": TwoDevices}, None, "ArchsNeedOneDeviceError", "runs on cpu, cuda", id="archs-of-two-devices"),
    pytest.param({"a": NoDeviceWithArchs}, None, "ArchsNeedOneDeviceError", "no device type", id="archs-of-no-device"),
    pytest.param({"a": DevicesAsString}, None, "AvailabilityFormError", "devices = 'cuda'", id="devices-string"),
    pytest.param({"a": DevicesAsList}, None, "AvailabilityFormError", "devices = ['cuda']", id="devices-list"),
    pytest.param({"a": DevicesOfNumbers}, None, "AvailabilityFormError", "devices = frozenset({0})", id="devices-numbers"),
    pytest.param({"a": ArchsAsInt}, None, "AvailabilityFormError", "supported_archs = 90", id="archs-int"),
    pytest.param({"a": ArchsAsString}, None, "AvailabilityFormError", "supported_archs = '90'", id="archs-string"),
    pytest.param({"a": ArchsOfStrings}, None, "AvailabilityFormError", "supported_archs = ['sm_90']", id="archs-of-strings"),
    pytest.param({"a": ArchsOfBools}, None, "AvailabilityFormError", "supported_archs = [True]", id="archs-of-bools"),
    pytest.param({"a": OverItself}, None, "PreferenceError", "names itself", id="preferred-over-itself"),
    pytest.param({"a": OverNobody}, None, "PreferenceError", "'nobody' is no key of this interface", id="preferred-over-unknown"),
    pytest.param({"a": OverB, "b": WorkspaceKernel}, TWO, "PreferenceError", "'b' is no key of this interface", id="preferred-over-key-of-another-interface"),
    pytest.param({"a": GeneralOverB, "b": ScaleKernel}, None, "PreferenceError", "it is general", id="preferred-over-on-the-general-one"),
    pytest.param({"a": OverAsString, "b": ScaleKernel}, None, "PreferenceError", "not a frozenset of keys", id="preferred-over-string"),
    pytest.param({"a": ScaleKernel}, {}, "UndeclaredInterfacesError", "declare interfaces instead", id="no-interfaces"),
    pytest.param({}, {"scale": ScaleCall}, "InterfaceDeclarationError", "no subclass of KernelInterface", id="interface-is-a-spec"),
    pytest.param({}, {"scale": "ScaleFwdInterface"}, "InterfaceDeclarationError", "no subclass of KernelInterface", id="interface-is-a-name"),
    pytest.param({}, {"scale": ScaleKernel}, "InterfaceDeclarationError", "an implementation, not an interface", id="interface-is-a-kernel"),
    pytest.param({}, {"scale": NoRequestFwdInterface}, "InterfaceDeclarationError", "it must be a CallSpec subclass", id="interface-without-request"),
    pytest.param({}, {"scale": BadRequestFwdInterface}, "InterfaceDeclarationError", "whose request is <class 'int'>", id="request-is-no-spec"),
    pytest.param({"a": "ScaleKernel"}, None, "UnknownKernelInterfaceError", "a keys implement none", id="kernel-is-a-name"),
    pytest.param({"a": WorkspaceKernel}, None, "UnknownKernelInterfaceError", "a keys implement none", id="kernel-of-another-interface"),
]  # fmt: skip

BASES = {
    "NotAClassmethodError": TypeError,
    "AbstractKernelError": TypeError,
    "AvailabilityFormError": TypeError,
    "InterfaceDeclarationError": TypeError,
    "ArchsNeedOneDeviceError": ValueError,
    "PreferenceError": ValueError,
    "UndeclaredInterfacesError": ValueError,
    "UnknownKernelInterfaceError": ValueError,
}


def check_round_trip(error):
    """Check that pickling and copying keep class, sentence and fields."""
    for same in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(same) is type(error)
        assert str(same) == str(error)
        assert same.fields.keys() == error.fields.keys()
        if error.fields.get("selection") is not None:
            assert same.selection == error.selection


@pytest.mark.parametrize(("act", "name", "base", "fragments", "fields"), TABLE_5)
def test_table_5(act, name, base, fragments, fields):
    """Each row of the table raises its own class, with the quoted fragment and its fields."""
    if name is None:
        assert act() == "a"
        return
    with pytest.raises(errors.DispatchError) as caught:
        act()
    error = caught.value
    assert type(error) is getattr(errors, name)
    assert isinstance(error, base)
    assert isinstance(error, errors.TileopsError)
    for fragment in fragments:
        assert fragment in str(error)
    for field, value in fields.items():
        assert getattr(error, field) == value
    check_round_trip(error)


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


class PositionalNames(ScaleKernel):
    def forward(self, data, by):
        return data * by


class FurtherWithDefaults(ScaleKernel):
    def forward(self, x, factor, chunk=4, *, verbose=False):
        return x * factor


class AnyArguments(ScaleKernel):
    def forward(self, *args, **keywords):
        return args[0]


class StaticForward(ScaleKernel):
    @staticmethod
    def forward(x, factor):
        return x * factor


class FurtherWithoutDefault(ScaleKernel):
    def forward(self, x, factor, chunk):
        return x


class KeywordOnlyFactor(ScaleKernel):
    def forward(self, x, *, factor):
        return x


class FurtherKeyword(ScaleKernel):
    def forward(self, x, factor, *, chunk):
        return x


class NoArguments(ScaleKernel):
    def forward(self):
        return None


class KeywordFwdInterface(KernelInterface):
    request = ScaleCall

    @abstractmethod
    def forward(self, x: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor: ...


class WithOut(Kernel, KeywordFwdInterface):
    def forward(self, data, *, out):
        return out.copy_(data)


class OutPositional(Kernel, KeywordFwdInterface):
    def forward(self, data, out):
        return out


class OtherKeyword(Kernel, KeywordFwdInterface):
    def forward(self, data, *, result):
        return result


@pytest.mark.parametrize(
    ("kernel_type", "takes"),
    [
        pytest.param(ScaleKernel, True, id="same"),
        pytest.param(PositionalNames, True, id="other-names"),
        pytest.param(FurtherWithDefaults, True, id="further-with-defaults"),
        pytest.param(AnyArguments, True, id="star-args"),
        pytest.param(StaticForward, True, id="static"),
        pytest.param(WithOut, True, id="keyword-only-by-name"),
        pytest.param(OutPositional, True, id="keyword-only-by-name-positional-too"),
        pytest.param(OneArgument, False, id="too-few"),
        pytest.param(NoArguments, False, id="none"),
        pytest.param(FurtherWithoutDefault, False, id="further-without-default"),
        pytest.param(KeywordOnlyFactor, False, id="not-positionally"),
        pytest.param(FurtherKeyword, False, id="further-keyword-without-default"),
        pytest.param(OtherKeyword, False, id="keyword-only-under-another-name"),
    ],
)
def test_forward_takes_the_interface_arguments(kernel_type, takes):
    """Positional parameters bind by place, keyword-only ones by name, others need defaults."""
    op = op_of({"scale": ScaleFwdInterface, "keyword": KeywordFwdInterface}, a=kernel_type)
    if takes:
        op()
    else:
        with pytest.raises(errors.ForwardSignatureError, match="forward does not take"):
            op()


def test_keyword_only_arguments_reach_the_kernel():
    """Calling a kernel passes keywords on to its forward."""
    out = torch.zeros(2)
    assert WithOut()(torch.ones(2), out=out) is out
    assert out.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("kernel_types", "call", "outcome"),
    [
        pytest.param({"a": OnCuda}, ON_CPU, Outcome.NO_DEVICE, id="row-6"),
        pytest.param({"a": Narrow}, ON_CPU, Outcome.UNSERVED, id="row-7"),
        pytest.param({"a": ScaleKernel, "b": AnyArguments}, ON_CPU, Outcome.AMBIGUOUS, id="row-8"),
        pytest.param({"a": Raising, "b": General}, ON_CPU, Outcome.DEFECTIVE, id="defective"),
    ],
)
def test_selection_errors_end_with_the_command(kernel_types, call, outcome):
    """The last line is the command that reproduces the outcome; the selection is on the object."""
    with pytest.raises(errors.SelectionError) as caught:
        op_of(**kernel_types)().key_for("scale", call)
    assert caught.value.selection.outcome is outcome
    last = str(caught.value).splitlines()[-1]
    words = shlex.split(last[last.index("tileops explain") :])
    assert words[2] == "ScaleFwdOp"
    options = dict(zip(words[3::2], words[4::2], strict=True))
    assert options == {
        "--interface": "scale",
        "--import": __name__,
        "--n": "512",
        "--dtype": "float16",
        "--extra": "none",
        "--device": "cpu",
    }


def test_defective_refusal_names_the_class_and_chains_the_cause():
    """A refusal that raises is reported as a defect of its class, even beside one that serves."""
    with pytest.raises(errors.DefectiveRefusalError, match=r"Raising\.refusal") as caught:
        op_of(a=Raising, b=General)().key_for("scale", ON_CPU)
    assert isinstance(caught.value.__cause__, AttributeError)
    assert isinstance(caught.value, (ValueError, RuntimeError))
    check_round_trip(caught.value)


def test_an_op_inside_a_function_has_no_command():
    """What no other process can import is said instead of a command that would fail."""

    class InsideFwdOp(op_of(a=OnCuda)):
        pass

    with pytest.raises(errors.OpNotAvailableError) as caught:
        InsideFwdOp().key_for("scale", ON_CPU)
    assert "cannot be reproduced" in str(caught.value).splitlines()[-1]


@pytest.mark.skipif(torch.accelerator.is_available(), reason="this machine has an accelerator")
@pytest.mark.parametrize("ask", ["key_for", "kernel_for"])
def test_no_device_at_all_is_row_6_with_both_remedies(ask):
    """Without device, facts and accelerator the remedies are a device or stated facts."""
    op = op_of(a=ScaleKernel, b=OnCuda)()
    with pytest.raises(errors.OpNotAvailableError, match="in-tree kernels do not run on") as caught:
        getattr(op, ask)("scale", ScaleCall(n=4))
    assert type(caught.value) is errors.OpNotAvailableError
    assert "Give the call a device" in str(caught.value)
    assert "state device facts" in str(caught.value)


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


@pytest.mark.parametrize("ask", ["key_for", "kernel_for", "explain"])
def test_unknown_interface(ask):
    """An interface that the op lacks is a KeyError that names those it has."""
    op = op_of({**TWO}, a=ScaleKernel)()
    with pytest.raises(KeyError, match="no kernel interface 'scal'; it has scale, two") as caught:
        getattr(op, ask)("scal", ON_CPU)
    assert isinstance(caught.value, errors.UnknownInterfaceError)
    check_round_trip(caught.value)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        pytest.param(ScaleCall("cpu", n=4, extra=[1]), "UnkeyableFactError", id="row-10"),
        pytest.param(ScaleCall("cpu", n=4, arch=7), "StatedFactsError", id="row-11"),
    ],
)
def test_rows_10_and_11_hold_for_a_kernel_that_is_built(call, name):
    """A spec that may not build is turned away although an equal one has its kernel."""
    op = op_of(a=ScaleKernel)()
    op.kernel_for("scale", ScaleCall("cpu", n=4))
    with pytest.raises(getattr(errors, name)):
        op.kernel_for("scale", call)


def every_error():
    """Return every exception class of the module."""
    return [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.TileopsError)
    ]


GROUPS = {errors.TileopsError, errors.DispatchError, errors.SelectionError}


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_every_condition_has_its_own_sentence(kind):
    """A class is documented, says what its name says, and states its own template unless it groups."""
    assert kind.__doc__
    assert kind.__name__.endswith("Error")
    assert ("template" in vars(kind)) == (kind not in GROUPS or kind is errors.TileopsError)


@pytest.mark.parametrize(
    ("kind", "bases"),
    [
        pytest.param(errors.SelectionError, (ValueError,), id="selection"),
        pytest.param(errors.UnservedCallError, (errors.OpNotAvailableError,), id="row-7"),
        pytest.param(errors.AmbiguousDispatchError, (ValueError, RuntimeError), id="row-8"),
        pytest.param(errors.TargetWithoutBuilderError, (errors.OpNotAvailableError,), id="target"),
        pytest.param(errors.DeviceFactsError, (errors.BackendError,), id="device-facts"),
        pytest.param(errors.MissingExtraError, (ImportError,), id="extra"),
        pytest.param(errors.KeyReuseError, (ValueError,), id="key-reuse"),
    ],
)
def test_bases(kind, bases):
    """The classes derive from what callers already catch."""
    assert issubclass(kind, bases[0])
    assert all(issubclass(kind, base) for base in (*bases, errors.TileopsError))
    if kind is errors.AmbiguousDispatchError:
        assert not issubclass(kind, errors.OpNotAvailableError)


def test_key_reuse_names_op_key_and_claimant():
    """A registered key equal to an in-tree one stops the construction, naming who registered it."""
    op = op_of(a=ScaleKernel)
    op.registry.register_kernel_type("ScaleFwdOp", "a", Narrow)
    with pytest.raises(errors.KeyReuseError, match="reuse keys it has") as caught:
        op()
    assert caught.value.keys == "a"
    assert __name__ in str(caught.value)
    check_round_trip(caught.value)
