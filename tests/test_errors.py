"""Every error of constructing, and asking for a kernel: class, bases, sentence, fields, pickling.

The table follows the specification's "Common errors" row by row.
"""

import shlex

import pytest
import torch

from scale_family import (
    ON_CPU,
    TWO,
    General,
    Narrow,
    OnCuda,
    OtherCall,
    OverA,
    OverB,
    ScaleCall,
    ScaleFwdInterface,
    ScaleKernel,
    check_round_trip,
    op_of,
)
from tileops import errors
from tileops.call_spec import CallSpec
from tileops.kernels.kernel import Kernel
from tileops.selection import Outcome


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


class NotedScale(ScaleKernel):
    pass


class OtherGeneral(ScaleKernel):
    general = True


class Raising(ScaleKernel):
    @classmethod
    def refusal(cls, call):
        return None if call.batch == 1 else "serves batch 1"


def construct(**kernel_types):
    return lambda: op_of(**kernel_types)()  # noqa: PLW0108


def key_for(call, **kernel_types):
    return lambda: op_of(**kernel_types)().key_for("scale", call)


def kernel_for(call, interface="scale", **kernel_types):
    return lambda: op_of(**kernel_types)().kernel_for(interface, call)


def stated(n, **facts):
    return ScaleCall(n=n, arch=90, **facts)


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


@pytest.mark.parametrize(
    ("kernel_types", "call", "outcome"),
    [
        pytest.param({"a": OnCuda}, ON_CPU, Outcome.NO_DEVICE, id="row-6"),
        pytest.param({"a": Narrow}, ON_CPU, Outcome.UNSERVED, id="row-7"),
        pytest.param({"a": ScaleKernel, "b": NotedScale}, ON_CPU, Outcome.AMBIGUOUS, id="row-8"),
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
    pairs = list(zip(words[3::2], words[4::2], strict=True))
    modules = {op_of.__module__, *(one.__module__ for one in kernel_types.values())}
    assert {value for option, value in pairs if option == "--import"} == modules
    assert {option: value for option, value in pairs if option != "--import"} == {
        "--interface": "scale",
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
@pytest.mark.parametrize("device", [None, "cuda"])
@pytest.mark.parametrize("ask", ["key_for", "kernel_for"])
def test_no_device_at_all_is_row_6_with_both_remedies(ask, device):
    """Where the current device is meant and there is none, both remedies are named."""
    op = op_of(a=ScaleKernel, b=OnCuda)()
    with pytest.raises(errors.OpNotAvailableError, match="in-tree kernels do not run on") as caught:
        getattr(op, ask)("scale", ScaleCall(device, n=4))
    assert type(caught.value) is errors.OpNotAvailableError
    first = str(caught.value).partition("\n")[0]
    assert "do not run on this machine, which has no accelerator: 'scale' has" in first
    assert "Run it on a machine that has such a device" in first
    assert "state device facts" in first
    assert first.endswith("--gpu h200")


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
    """A class is documented and states its own template, unless it groups others.

    What a call or a result violates of a signature is told in one form: the requirement fills it.
    """
    assert kind.__doc__
    assert kind.__name__.endswith("Error")
    if not issubclass(kind, (errors.SignatureError, errors.ResultError)):
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
