"""Summaries of recordings written out by hand."""

import pytest

from tileops.introspect.trace import (
    CallRecord,
    ErrorRow,
    KeyRow,
    Loser,
    RecordedCall,
    Recording,
    RefusalRow,
    summarise,
)


def recording(*records):
    return Recording((), tuple(RecordedCall(one, 1) for one in records))


def call(calls, selected=None, **members):
    outcome = "selected" if selected else members.pop("outcome", None)
    interface = members.pop("interface", "dense" if outcome else None)
    given = {"op": "XFwdOp", "module": "m", "calls": calls, "interface": interface}
    return CallRecord(**given, selected=selected, outcome=outcome, **members)


FAST = Loser("fast", "refused", "serves n <= 256, got 512", preferred=True)


def test_keys_and_shares():
    """Calls are added up per key; shares are of the op's calls."""
    (op,) = summarise(
        recording(
            call(60, "fast", seconds=0.5),
            call(20, "slow", general=True, facts={"n": 1}),
            call(10, "slow", general=True, facts={"n": 2}),
            call(6, target="acme"),
            call(4, empty=True),
        )
    )
    assert (op.op, op.calls, op.seconds) == ("XFwdOp", 100, 0.5)
    assert op.keys == (
        KeyRow(None, "target acme", False, 6, 0.06, 1),
        KeyRow(None, "no kernel (empty)", False, 4, 0.04, 1),
        KeyRow("dense", "fast", False, 60, 0.6, 1),
        KeyRow("dense", "slow", True, 30, 0.3, 2),
    )


def test_calls_with_several_requests_count_once():
    """The op's calls are those of the first request; each interface has all of them."""
    (op,) = summarise(
        recording(
            call(5, "a", interface="first", seconds=1.0),
            call(5, "b", interface="second", position=1, seconds=1.0),
        )
    )
    assert (op.calls, op.seconds) == (5, 1.0)
    assert [(row.interface, row.calls, row.share) for row in op.keys] == [
        ("first", 5, 1.0),
        ("second", 5, 1.0),
    ]


def test_first_choices_that_did_not_serve():
    """Equal reasons are one row with the place and command of the first; most calls first."""
    other = Loser("fast", "refused", "serves n <= 256, got 999", preferred=True)
    (op,) = summarise(
        recording(
            call(1, "slow", losers=[other], place="a.py:1", command="c1"),
            call(3, "slow", losers=[FAST], place="a.py:2", command="c2"),
            call(4, "slow", losers=[FAST], place="a.py:3", command="c3"),
        )
    )
    assert op.refusals == (
        RefusalRow("dense", "fast", "refused", FAST.reason, "slow", 7, "a.py:2", "c2"),
        RefusalRow("dense", "fast", "refused", other.reason, "slow", 1, "a.py:1", "c1"),
    )


@pytest.mark.parametrize(
    ("loser", "listed"),
    [
        pytest.param(FAST, True, id="refused"),
        pytest.param(Loser("fast", "arch", "", preferred=True), True, id="other-arch"),
        pytest.param(Loser("fast", "raised", "", preferred=True), True, id="defective"),
        pytest.param(Loser("fast", "device", "", preferred=True), False, id="other-device"),
        pytest.param(Loser("fast", "outranked", ""), False, id="outranked"),
        pytest.param(Loser("fast", "refused", ""), False, id="would-not-have-served"),
    ],
)
def test_which_losers_are_first_choices(loser, listed):
    """Only a key that would have served, and runs on such devices, is listed."""
    (op,) = summarise(recording(call(1, "slow", losers=[loser])))
    assert bool(op.refusals) is listed


def test_calls_that_nothing_served():
    """Their keys are listed as first choices, and their errors counted by line."""
    (op,) = summarise(
        recording(
            call(2, outcome="unserved", losers=[FAST], error="E: x", place="a.py:1"),
            call(3, outcome="unserved", losers=[FAST], error="E: x", place="a.py:2"),
        )
    )
    assert [(row.served_by, row.calls) for row in op.keys] == [("nothing (unserved)", 5)]
    assert [(row.served_by, row.calls) for row in op.refusals] == [("nothing (unserved)", 5)]
    assert op.errors == (ErrorRow("E: x", 3, "a.py:2"), ErrorRow("E: x", 2, "a.py:1"))


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        pytest.param("no_device", "nothing (no device)", id="no-device"),
        pytest.param("ambiguous", "nothing (ambiguous)", id="ambiguous"),
        pytest.param("defective", "nothing (defective)", id="defective"),
    ],
)
def test_why_nothing_served(outcome, words):
    """The outcome stands in words beside what it means for the call."""
    (op,) = summarise(recording(call(1, outcome=outcome)))
    assert [row.served_by for row in op.keys] == [words]


def test_kinds_are_different_calls():
    """A call that other processes and lines make too is one kind; other facts make another."""
    h200 = {"arch": 90, "sm_count": 132}
    n1 = {"facts": {"n": 1, "m": 2}, "device": "cuda:0", "device_facts": h200}
    (op,) = summarise(
        recording(
            call(1, "fast", **n1),
            call(1, "fast", **n1, place="b.py:1"),
            call(1, "fast", **{**n1, "facts": {"m": 2, "n": 1}}),
            call(1, "fast", **{**n1, "device": "cuda:1"}),
            call(1, "fast", **{**n1, "facts": {"n": 1, "m": 3}}),
            call(1, "fast", **{**n1, "device_facts": {"arch": 80, "sm_count": 108}}),
        )
    )
    assert [(row.calls, row.kinds) for row in op.keys] == [(6, 3)]


def test_ops_in_the_order_of_their_calls():
    """The busiest op comes first, equally busy ones by name; nothing recorded is nothing said."""
    records = [CallRecord(op=op, module="m", calls=n) for op, n in (("B", 1), ("A", 1), ("C", 9))]
    assert [one.op for one in summarise(recording(*records))] == ["C", "A", "B"]
    assert summarise(recording()) == ()


def test_calls_that_were_never_counted():
    """A record that a kill left at zero calls divides by nothing."""
    (op,) = summarise(recording(call(0, "fast")))
    assert op.keys == (KeyRow("dense", "fast", False, 0, 0.0, 1),)
