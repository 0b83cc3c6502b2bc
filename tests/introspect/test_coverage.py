"""Comparing calls with the conditions and boundaries that there are."""

import pytest

from testing.toy import ToyCall, ToyFwdOp
from tileops.introspect.boundaries import outcome_name
from tileops.introspect.calls import sample_calls
from tileops.introspect.conditions import conditions
from tileops.introspect.coverage import Asked, conditions_seen, coverage
from tileops.introspect.symbolic.exploration import explore
from tileops.ops.catalogue import in_tree_ops

EXPLORED = explore(ToyFwdOp.selection_tables()["toy"], ToyCall)


def asked(*calls):
    """Return calls (n, causal) with the outcomes they have."""
    found = []
    for n, causal in calls:
        values = EXPLORED.form.values(ToyCall(device="cpu", n=n, causal=causal))
        found.append(Asked(tuple(values.items()), outcome_name(EXPLORED.witness(values).selection)))
    return found


@pytest.mark.parametrize(
    ("calls", "tested"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([(256, False)], [], id="one-side"),
        pytest.param([(256, False), (257, False)], ["n"], id="both-sides"),
        pytest.param([(257, False), (256, False)], ["n"], id="in-any-order"),
        pytest.param([(256, False), (258, False)], [], id="not-adjacent"),
        pytest.param([(256, False), (257, True)], [], id="another-fact-differs"),
        pytest.param([(100, False), (100, True)], ["causal"], id="choice-anywhere"),
        pytest.param([(300, False), (300, True)], [], id="same-outcome"),
        pytest.param([(256, False), (257, False), (256, True)], ["n", "causal"], id="all"),
    ],
)
def test_pairs(calls, tested):
    """A pair is tested by two calls that differ in its fact alone, by one step."""
    found = coverage(EXPLORED, asked(*calls))
    assert sorted(one.fact for one in found.pairs) == ["causal", "n"]
    assert sorted(one.fact for one in found.pairs if one.tested) == sorted(tested)


@pytest.mark.parametrize(
    ("calls", "seen"),
    [
        pytest.param([], {"n": (False, False), "causal": (False, False)}, id="nothing"),
        pytest.param([(1, False)], {"n": (True, False), "causal": (True, False)}, id="served"),
        pytest.param([(999, False)], {"n": (False, True), "causal": (True, False)}, id="too-long"),
        pytest.param([(999, True)], {"n": (False, True), "causal": (False, True)}, id="both-fail"),
        pytest.param(
            [(1, False), (999, True)], {"n": (True, True), "causal": (True, True)}, id="both-ways"
        ),
    ],
)
def test_conditions(calls, seen):
    """A call tells of every condition, of those after the first that it fails too."""
    found = coverage(EXPLORED, asked(*calls)).conditions
    of_fact = {
        fact: next((one.held, one.failed) for one in found if fact in one.text.split())
        for fact in seen
    }
    assert of_fact == seen
    assert {one.key for one in found} <= {"general", "short"}


@pytest.mark.parametrize("op", [ToyFwdOp, *in_tree_ops().values()], ids=lambda op: op.__name__)
def test_conditions_are_those_that_explanations_show(op):
    """For sampled calls of every op, conditions and their truth are what `conditions` says."""
    compared = 0
    for interface, table in op.selection_tables().items():
        explored = explore(table, op.interfaces[interface].calls())
        for values in sample_calls(explored.model, 20):
            call = Asked(tuple(values.items()), "any")
            found = conditions_seen(explored, [call])
            for key in explored.model.keys:
                shown = {(one.text, one.holds) for one in conditions(explored, key, values)}
                asked = [one for one in found if one.key == key and (one.held or one.failed)]
                assert {(one.text, one.held) for one in asked} <= shown
                compared += len(asked)
    assert compared > 0


def test_equal_calls_are_one():
    """A call that is asked twice is counted once."""
    assert coverage(EXPLORED, asked((1, False), (1, False))).calls == 1
