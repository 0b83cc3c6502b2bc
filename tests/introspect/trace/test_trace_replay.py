"""Deciding recorded calls again."""

import dataclasses
import enum
import json
from typing import Annotated

import pytest
import torch
from msgspec.structs import replace

from scale_family import General, Narrow, OnCuda, ScaleFwdInterface, op_of
from tileops.call_spec import CallSpec, Range
from tileops.errors import RecordedFactError
from tileops.introspect.fact_values import decode_facts, encode_facts
from tileops.introspect.trace import RecordedCall, Recording, replay
from tileops.introspect.trace._decisions import records_of
from tileops.ops._observers import Specialisation
from tileops.selection import select

OP = op_of(general=General, narrow=Narrow, cuda=OnCuda)
CALL = ScaleFwdInterface.request


def recorded(*calls, op=OP):
    """Return the recording of calls as they are decided by *op*."""
    selections = [select(op.selection_tables()["scale"], call) for call in calls]
    records = [
        record
        for one in selections
        for record in records_of(Specialisation("ScaleFwdOp", "m", None, (one,), 0.0), "f.py:1")
    ]
    return Recording((), tuple(RecordedCall(one, 1) for one in records))


def finding(op):
    return lambda name, module: op if name == "ScaleFwdOp" else None


CALLS = [
    CALL(device="cpu", n=256),
    CALL(device="cpu", n=512),
    CALL(device="xpu", n=1),
    CALL(arch=90, sm_count=132, smem_budget=1000, n=4, dtype=torch.bfloat16),
    CALL(arch=89, n=4, extra=(1, 2)),
]


def test_the_same_code_changes_nothing():
    """Every outcome is decided again, on devices that this machine need not have."""
    answer = replay(recorded(*CALLS), finding(OP))
    assert (answer.decided, answer.skipped, answer.changes) == (5, 0, ())


def test_a_changed_refusal_is_found():
    """Calls between the old limit and the new one change hands, with the new decision."""

    class Narrower(Narrow):
        @classmethod
        def refusal(cls, call):
            return None if call.n <= 255 else f"serves n <= 255, got {call.n}"

    answer = replay(recorded(*CALLS), finding(op_of(general=General, narrow=Narrower, cuda=OnCuda)))
    (change,) = answer.changes
    assert (change.before, change.now, change.problem) == ("narrow", "general", None)
    assert change.call.record.facts["n"] == 256
    assert change.selection.selected.key == "general"


def test_a_call_that_was_not_served_and_is_now():
    """A new implementation takes calls that failed, and a lost one gives calls up."""
    answer = replay(recorded(CALL(device="cpu", n=512), op=op_of(n=Narrow)), finding(OP))
    assert [(one.before, one.now) for one in answer.changes] == [("unserved", "general")]
    answer = replay(recorded(CALL(device="cpu", n=512)), finding(op_of(n=Narrow)))
    assert [(one.before, one.now) for one in answer.changes] == [("general", "unserved")]


def test_calls_without_a_request_are_skipped():
    """Calls of targets, empty calls and collapsed records hold nothing to decide."""
    told = Specialisation("ScaleFwdOp", "m", "acme", (), 0.0)
    (target,) = records_of(told, "f.py:1")
    (whole,) = [one.record for one in recorded(CALLS[0]).calls]
    records = [target, replace(whole, collapsed=True)]
    answer = replay(Recording((), tuple(RecordedCall(one, 1) for one in records)), finding(OP))
    assert (answer.decided, answer.skipped, answer.changes) == (0, 2, ())


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        pytest.param({"op": "GoneFwdOp"}, "there is no op GoneFwdOp", id="op"),
        pytest.param({"interface": "gone"}, "has no interface 'gone'", id="interface"),
        pytest.param({"facts": {"n": 1, "dtype": "float99"}}, "ScaleCall.dtype", id="value"),
        pytest.param({"facts": {"n": "many"}}, "ScaleCall.n cannot be 'many'", id="kind"),
        pytest.param({"facts": {}}, "none of the facts of ScaleCall is recorded", id="no-facts"),
        pytest.param({"device_facts": {"arch": 0}}, "arch must be an int of 1", id="device-fact"),
        pytest.param({"device": "nonsense"}, "got 'nonsense'", id="device"),
    ],
)
def test_what_cannot_be_decided_is_a_change(members, problem):
    """A call that the code at hand cannot be asked about says why."""
    record = replace(recorded(CALLS[0]).calls[0].record, **members)
    (change,) = replay(Recording((), (RecordedCall(record, 1),)), finding(OP)).changes
    assert change.now is None
    assert problem in change.problem


def test_a_device_fact_of_another_version_decides_nothing():
    """As a fact that the call spec does not have: it is left out."""
    record = recorded(CALLS[0]).calls[0].record
    other = replace(record, device_facts={**record.device_facts, "clusters": 3})
    answer = replay(Recording((), (RecordedCall(other, 1),)), finding(OP))
    assert (answer.decided, answer.changes) == (1, ())


class Layout(enum.Enum):
    ROWS = 1
    COLUMNS = 2


@dataclasses.dataclass(frozen=True)
class Window:
    left: int
    right: int | None
    layout: Layout = Layout.ROWS


@dataclasses.dataclass(frozen=True)
class EveryCall(CallSpec):
    count: Annotated[int, Range(1)] = 1
    scale: float | None = None
    causal: bool = False
    dtype: torch.dtype = torch.float16
    where: torch.device | None = None
    name: str = ""
    layout: Layout = Layout.ROWS
    window: Window | None = None
    shape: tuple[int, ...] = ()
    pair: tuple[int, torch.dtype] = (1, torch.int8)
    bare: tuple = ()
    kinds: frozenset[Layout] = frozenset()


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param({}, id="defaults"),
        pytest.param({"count": 2**70}, id="beyond-64-bits"),
        pytest.param({"count": 2**60 + 1}, id="beyond-a-double"),
        pytest.param({"scale": 0.1}, id="float"),
        pytest.param({"scale": 2.0}, id="whole-float"),
        pytest.param({"scale": float("inf")}, id="infinity"),
        pytest.param({"scale": -float("inf")}, id="minus-infinity"),
        pytest.param({"causal": True, "name": "none"}, id="bool-and-text"),
        pytest.param({"dtype": torch.float8_e4m3fn, "where": torch.device("cuda:1")}, id="torch"),
        pytest.param({"layout": Layout.COLUMNS}, id="enum"),
        pytest.param({"window": Window(1, None, Layout.COLUMNS)}, id="dataclass"),
        pytest.param({"shape": (1, 2, 3), "pair": (2, torch.int8)}, id="tuples"),
        pytest.param({"bare": (1, (2, 3))}, id="bare-tuple"),
        pytest.param({"kinds": frozenset(Layout)}, id="frozenset"),
    ],
)
def test_facts_survive_json(facts):
    """Every keyable kind of fact comes back as it was, type included."""
    call = EveryCall(device="cpu", **facts)
    stored = json.loads(json.dumps(encode_facts(call), allow_nan=False))
    found = decode_facts(EveryCall, stored)
    assert EveryCall(device="cpu", **found) == call
    assert {name: type(value) for name, value in found.items()} == {
        name: type(value) for name, value in call.facts().items()
    }


@dataclasses.dataclass(frozen=True, kw_only=True)
class RequiredCall(CallSpec):
    n: int


def test_facts_of_another_version_of_the_spec():
    """A fact that is gone is left out, one that is new has its default, or is missed."""
    assert decode_facts(EveryCall, {"count": 3, "gone": 1}) == {"count": 3}
    with pytest.raises(RecordedFactError, match=r"RequiredCall\.n is not recorded"):
        decode_facts(RequiredCall, {})
    with pytest.raises(RecordedFactError, match=r"EveryCall\.layout cannot be 'DIAGONAL'"):
        decode_facts(EveryCall, {"layout": "DIAGONAL"})
