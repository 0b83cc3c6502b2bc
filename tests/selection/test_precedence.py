"""Precedence of one interface's keys: closure, the general key, and what is rejected."""

import pytest
from declared import candidate, table

from tileops.errors import (
    KeyReuseError,
    PreferenceCycleError,
    PreferenceError,
    SeveralGeneralError,
)
from tileops.selection import Candidate, EdgeKind


def outranked(precedence, keys):
    """Return every pair (winner, loser)."""
    return {(w, x) for w in keys for x in keys if precedence.edge(w, x) is not None}


@pytest.mark.parametrize(
    ("over", "general", "pairs"),
    [
        pytest.param({"a": "", "b": ""}, None, set(), id="nothing-declared"),
        pytest.param({"a": "b", "b": ""}, None, {"ab"}, id="direct"),
        pytest.param({"a": "", "b": "a"}, None, {"ba"}, id="later-key-over-earlier"),
        pytest.param({"a": "b", "b": "c", "c": ""}, None, {"ab", "bc", "ac"}, id="chain-of-3"),
        pytest.param(
            {"a": "b", "b": "c", "c": "d", "d": ""},
            None,
            {"ab", "ac", "ad", "bc", "bd", "cd"},
            id="chain-of-4",
        ),
        pytest.param(
            {"a": "bc", "b": "d", "c": "d", "d": ""},
            None,
            {"ab", "ac", "ad", "bd", "cd"},
            id="diamond",
        ),
        pytest.param({"a": "c", "b": "c", "c": ""}, None, {"ac", "bc"}, id="two-over-one"),
        pytest.param({"a": "", "b": ""}, "a", {"ba"}, id="general-first-ranks-last"),
        pytest.param({"a": "b", "b": "", "c": ""}, "c", {"ab", "ac", "bc"}, id="general-below-all"),
        pytest.param({"a": "b", "b": ""}, "b", {"ab"}, id="declared-over-the-general-one"),
        pytest.param({"a": ""}, "a", set(), id="general-alone"),
        pytest.param({}, None, set(), id="no-key"),
    ],
)
def test_closure(over, general, pairs):
    """Preferences are transitive, the general key is below every other, and nothing else ranks."""
    keys = list(over)
    precedence = table(
        *(candidate(key, over=over[key], general=key == general) for key in keys)
    ).precedence
    assert outranked(precedence, keys) == {tuple(pair) for pair in pairs}
    assert precedence.general == general


def test_closure_covers_keys_that_run_nowhere():
    """A chain through a key that no device runs still orders its ends."""
    made = table(candidate("a", over="b"), candidate("b", over="c", devices=()), candidate("c"))
    assert made.precedence.edge("a", "c").path == ("a", "b", "c")


@pytest.mark.parametrize(
    ("winner", "loser", "kind", "path"),
    [
        pytest.param("a", "b", EdgeKind.DIRECT, "ab", id="direct"),
        pytest.param("a", "c", EdgeKind.CHAIN, "abc", id="chain"),
        pytest.param("a", "d", EdgeKind.DIRECT, "ad", id="direct-beside-a-chain"),
        pytest.param("b", "d", EdgeKind.CHAIN, "bcd", id="chain-of-two"),
        pytest.param("c", "g", EdgeKind.GENERAL, "cg", id="general"),
    ],
)
def test_edges(winner, loser, kind, path):
    """An edge is direct, or names the keys it leads through, or says that the loser is general."""
    made = table(
        candidate("a", over="bd"),
        candidate("b", over="c"),
        candidate("c", over="d"),
        candidate("d"),
        candidate("g", general=True),
    )
    edge = made.precedence.edge(winner, loser)
    assert (edge.kind, edge.path) == (kind, tuple(path))
    assert (edge.winner, edge.loser) == (winner, loser)
    assert made.precedence.edge(loser, winner) is None


@pytest.mark.parametrize(
    ("over", "cycle"),
    [
        pytest.param({"a": "b", "b": "a"}, "ab", id="two"),
        pytest.param({"a": "b", "b": "c", "c": "a"}, "abc", id="three"),
        pytest.param({"a": "b", "b": "c", "c": "b"}, "bc", id="behind-a-tail"),
        pytest.param({"a": "", "b": "c", "c": "d", "d": "b"}, "bcd", id="beside-a-free-key"),
        pytest.param({"a": "b", "b": "ac", "c": ""}, "ab", id="with-a-way-out"),
    ],
)
def test_cycle(over, cycle):
    """Preferences that lead back are rejected, naming the keys on the cycle and no other."""
    with pytest.raises(PreferenceCycleError, match="preferences form a cycle through") as caught:
        table(*(candidate(key, over=keys) for key, keys in over.items()))
    named = caught.value.cycle.split(" -> ")
    assert named[0] == named[-1]
    assert set(named) == set(cycle)


def test_cycle_through_a_key_that_runs_nowhere():
    """Availability does not break a cycle."""
    with pytest.raises(PreferenceCycleError):
        table(candidate("a", over="b"), candidate("b", over="a", devices=()))


@pytest.mark.parametrize(
    ("stated", "fragment"),
    [
        pytest.param(frozenset({"nobody"}), "'nobody'", id="unknown-key"),
        pytest.param(frozenset({"b", "nobody"}), "'nobody'", id="unknown-beside-known"),
        pytest.param(frozenset({"a"}), "names itself", id="itself"),
        pytest.param("b", "not a frozenset of keys", id="string"),
        pytest.param(["b"], "not a frozenset of keys", id="list"),
        pytest.param(None, "not a frozenset of keys", id="none"),
        pytest.param(frozenset({1}), "not a frozenset of keys", id="numbers"),
    ],
)
def test_bad_preference(stated, fragment):
    """preferred_over holds keys of rivals; anything else is an error that names key and class."""
    bad = candidate("a")
    bad.implementation.preferred_over = stated
    with pytest.raises(PreferenceError) as caught:
        table(bad, candidate("b"))
    message = str(caught.value)
    assert fragment in message
    assert "PlainFwdOp" in message
    assert "'a' (AKernel)" in message
    assert isinstance(caught.value, ValueError)
    assert caught.value.stated == stated


def test_general_key_states_no_preference():
    """The general key ranks below every other, so it cannot be preferred over one."""
    with pytest.raises(PreferenceError, match="it is general"):
        table(candidate("a", general=True, over="b"), candidate("b"))


@pytest.mark.parametrize(
    "generals",
    [pytest.param("ab", id="two"), pytest.param("abc", id="three")],
)
def test_several_general(generals):
    """Two general keys leave nothing to rank last; the message names them all."""
    with pytest.raises(
        SeveralGeneralError, match="has more than one general implementation"
    ) as caught:
        table(*(candidate(key, general=key in generals) for key in "abcd"))
    assert caught.value.keys == ", ".join(generals)


def test_inherited_general_must_be_set_back():
    """A subclass of the general class is general too, until it says otherwise."""
    parent = candidate("parent", general=True)
    heir = type("Heir", (parent.implementation,), {})
    with pytest.raises(SeveralGeneralError):
        table(parent, Candidate("heir", heir))
    heir.general = False
    assert table(parent, Candidate("heir", heir)).precedence.general == "parent"


def test_key_used_twice():
    """One key names one implementation of an interface."""
    with pytest.raises(KeyReuseError, match="reuse keys it has"):
        table(candidate("a"), candidate("b"), candidate("a"))


def test_general_edge_survives_in_every_order():
    """The general key may be declared anywhere and may be named by others."""
    keys = [candidate("g", general=True), candidate("a", over="g"), candidate("b")]
    for order in (keys, keys[::-1], keys[1:] + keys[:1]):
        assert outranked(table(*order).precedence, "gab") == {("a", "g"), ("b", "g")}
