"""Selecting among the keys of an interface: winners, stages, edges and outcomes."""

import pytest
from declared import PlainCall, candidate, table

from tileops.errors import (
    AmbiguousDispatchError,
    DefectiveRefusalError,
    OpNotAvailableError,
    UnservedCallError,
)
from tileops.selection import Outcome, Stage, select


def stages(selection):
    """Return the stage of every key."""
    return {verdict.key: verdict.stage.value for verdict in selection.verdicts}


def decode_table():
    """Return the three dense decode implementations of the specification, and their ranges."""
    return table(
        candidate("decode", archs=[80, 89, 90], general=True),
        candidate("bs1", archs=[90]),
        candidate(
            "long_context",
            archs=[80, 89, 90],
            over={"bs1"},
            refuses=lambda call: None if call.n >= 1024 else f"serves kv >= 1024, got {call.n}",
        ),
    )


@pytest.mark.parametrize(
    ("arch", "kv", "applicable", "selected"),
    [
        pytest.param(90, 4096, {"decode", "bs1", "long_context"}, "long_context", id="sm90-long"),
        pytest.param(90, 512, {"decode", "bs1"}, "bs1", id="sm90-short"),
        pytest.param(80, 4096, {"decode", "long_context"}, "long_context", id="sm80-long"),
        pytest.param(80, 512, {"decode"}, "decode", id="sm80-short"),
        pytest.param(
            90, 1024, {"decode", "bs1", "long_context"}, "long_context", id="sm90-at-1024"
        ),
        pytest.param(90, 1023, {"decode", "bs1"}, "bs1", id="sm90-just-below-1024"),
    ],
)
def test_batch_1_decode(arch, kv, applicable, selected):
    """Table 2: availability filters before precedence is compared."""
    selection = select(decode_table(), PlainCall(arch=arch, n=kv))
    assert {v.key for v in selection.verdicts if v.stage.applicable} == applicable
    assert selection.outcome is Outcome.SELECTED
    assert selection.winner() == selection.selected.key == selected


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param([candidate("a")], {"a": "selected"}, id="single"),
        pytest.param([candidate("a", general=True)], {"a": "selected"}, id="single-and-general"),
        pytest.param(
            [candidate("a"), candidate("b", refuses="no")],
            {"a": "selected", "b": "refused"},
            id="overlaps-nothing",
        ),
        pytest.param(
            [candidate("a", general=True), candidate("b")],
            {"a": "outranked", "b": "selected"},
            id="overlaps-only-the-general-one",
        ),
        pytest.param(
            [candidate("a"), candidate("b", over="a")],
            {"a": "outranked", "b": "selected"},
            id="overlap-declared",
        ),
        pytest.param(
            [candidate("a"), candidate("b")], {"a": "tied", "b": "tied"}, id="overlap-undeclared"
        ),
        pytest.param(
            [candidate("a", refuses="no"), candidate("b", over="a")],
            {"a": "refused", "b": "selected"},
            id="preferred-over-a-refusing-one",
        ),
        pytest.param(
            [candidate("a"), candidate("b", over="a", refuses="no")],
            {"a": "selected", "b": "refused"},
            id="preferred-one-refuses",
        ),
        pytest.param(
            [candidate("a", general=True, refuses="no"), candidate("b")],
            {"a": "refused", "b": "selected"},
            id="general-one-may-refuse",
        ),
        pytest.param(
            [candidate("a", general=True, archs=[80]), candidate("b")],
            {"a": "arch", "b": "selected"},
            id="general-one-may-be-unavailable",
        ),
        pytest.param(
            [candidate("a", over="b"), candidate("b", over="c", refuses="no"), candidate("c")],
            {"a": "selected", "b": "refused", "c": "outranked"},
            id="chain-through-a-refusing-key",
        ),
        pytest.param(
            [candidate("a", over="b"), candidate("b", over="c", archs=[80]), candidate("c")],
            {"a": "selected", "b": "arch", "c": "outranked"},
            id="chain-through-a-key-for-another-arch",
        ),
        pytest.param(
            [candidate("a", over="b"), candidate("b", over="c", devices=["xpu"]), candidate("c")],
            {"a": "selected", "b": "device", "c": "outranked"},
            id="chain-through-a-key-for-another-device",
        ),
        pytest.param(
            [candidate("a", over="c"), candidate("b", over="c"), candidate("c")],
            {"a": "tied", "b": "tied", "c": "outranked"},
            id="both-over-the-third",
        ),
        pytest.param(
            [candidate("a", over="c"), candidate("b"), candidate("c")],
            {"a": "tied", "b": "tied", "c": "outranked"},
            id="one-unordered-beside-a-pair",
        ),
        pytest.param(
            [candidate("g", general=True), candidate("a"), candidate("b")],
            {"g": "outranked", "a": "tied", "b": "tied"},
            id="tie-above-the-general-one",
        ),
    ],
)
def test_stages(keys, expected):
    """Each key reaches the stage that its declarations and its rivals give it, in any order."""
    for order in (keys, keys[::-1]):
        selection = select(table(*order), PlainCall())
        assert stages(selection) == expected
        assert [v.key for v in selection.verdicts] == [c.key for c in order]
        winners = [key for key, stage in expected.items() if stage == "selected"]
        assert [selection.selected and selection.selected.key] == (winners or [None])


@pytest.mark.parametrize(
    ("keys", "call", "outcome", "error"),
    [
        pytest.param(
            [candidate("a"), candidate("b", archs=[90])],
            PlainCall("cpu", None),
            Outcome.NO_DEVICE,
            OpNotAvailableError,
            id="no-key-for-the-device-type",
        ),
        pytest.param([], PlainCall(), Outcome.NO_DEVICE, OpNotAvailableError, id="no-key-at-all"),
        pytest.param(
            [candidate("a")],
            PlainCall(None, None),
            Outcome.NO_DEVICE,
            OpNotAvailableError,
            id="no-device-at-all",
        ),
        pytest.param(
            [candidate("a", archs=[80])],
            PlainCall(),
            Outcome.UNSERVED,
            UnservedCallError,
            id="device-type-yes-arch-no",
        ),
        pytest.param(
            [candidate("a"), candidate("b", devices=["cpu"], refuses="no")],
            PlainCall("cpu", None),
            Outcome.UNSERVED,
            UnservedCallError,
            id="one-runs-here-and-refuses",
        ),
        pytest.param(
            [candidate("a", refuses="no")],
            PlainCall(),
            Outcome.UNSERVED,
            UnservedCallError,
            id="refused",
        ),
        pytest.param(
            [candidate("a"), candidate("b")],
            PlainCall(),
            Outcome.AMBIGUOUS,
            AmbiguousDispatchError,
            id="tied",
        ),
        pytest.param(
            [candidate("a", refuses=OSError("x"))],
            PlainCall(),
            Outcome.DEFECTIVE,
            DefectiveRefusalError,
            id="only-key-raises",
        ),
        pytest.param(
            [candidate("a", refuses=OSError("x"), general=True), candidate("b")],
            PlainCall(),
            Outcome.DEFECTIVE,
            DefectiveRefusalError,
            id="outranked-key-raises",
        ),
        pytest.param(
            [candidate("a", refuses=OSError("x")), candidate("b"), candidate("c")],
            PlainCall(),
            Outcome.DEFECTIVE,
            DefectiveRefusalError,
            id="raises-beside-a-tie",
        ),
        pytest.param(
            [candidate("a", refuses="no"), candidate("b", refuses=0)],
            PlainCall(),
            Outcome.DEFECTIVE,
            DefectiveRefusalError,
            id="returns-no-sentence",
        ),
    ],
)
def test_failed_outcomes(keys, call, outcome, error):
    """An outcome without a winner raises its own error, which carries the whole selection."""
    selection = select(table(*keys), call)
    assert selection.outcome is outcome
    assert selection.selected is None
    with pytest.raises(error) as caught:
        selection.winner()
    assert type(caught.value) is error
    assert caught.value.selection is selection


def test_ambiguity_names_only_the_unbeaten():
    """With a over c and b over c the choice is between a and b; c is not named."""
    keys = [
        candidate("alpha", over=["gamma"]),
        candidate("beta", over=["gamma"]),
        candidate("gamma"),
    ]
    with pytest.raises(
        AmbiguousDispatchError, match="dispatch is ambiguous: alpha, beta all"
    ) as caught:
        select(table(*keys), PlainCall()).winner()
    assert caught.value.keys == "alpha, beta"
    assert "gamma" not in str(caught.value)


def test_unserved_lists_the_reason_of_every_key():
    """The message gives each key's own reason, in the order of declaration."""
    keys = [
        candidate("wide", refuses="serves n >= 1024, got 256"),
        candidate("old", archs=[80]),
        candidate("foreign", devices=["xpu"]),
    ]
    with pytest.raises(UnservedCallError, match="no implementation serves this call") as caught:
        select(table(*keys), PlainCall()).winner()
    lines = [line.strip() for line in str(caught.value).splitlines()]
    assert "wide: serves n >= 1024, got 256" in lines
    assert "old: supports arch 80, got 90" in lines
    assert "foreign: runs on xpu, got cuda" in lines
    assert lines.index("wide: serves n >= 1024, got 256") < lines.index(
        "old: supports arch 80, got 90"
    )


def test_a_raising_refusal_is_chained_and_the_others_are_judged():
    """The error names the class and chains the cause; no other verdict is lost."""
    cause = KeyError("batch")
    keys = [candidate("bad", refuses=cause), candidate("no", refuses="serves 1"), candidate("yes")]
    selection = select(table(*keys), PlainCall())
    assert stages(selection)["bad"] == "raised"
    assert stages(selection)["no"] == "refused"
    assert selection.verdicts[2].stage.applicable
    with pytest.raises(DefectiveRefusalError, match=r"BadKernel\.refusal \(key 'bad'\)") as caught:
        selection.winner()
    assert caught.value.__cause__ is cause


def test_the_key_left_standing_beside_a_defect_says_why_it_is_not_selected():
    """Alone among refusals it would win; the defect of another key keeps the call undecided."""
    selection = select(table(candidate("bad", refuses=0), candidate("yes")), PlainCall())
    standing = selection.verdicts[1]
    assert standing.stage is Stage.TIED
    assert "bad" in standing.reason


def test_every_available_key_is_asked_once_in_order():
    """Keys are judged in the order of declaration, each exactly once."""
    asked = []
    keys = [
        candidate("a", asked=asked, refuses="no"),
        candidate("b", asked=asked, archs=[80]),
        candidate("c", asked=asked, general=True),
        candidate("d", asked=asked),
    ]
    select(table(*keys), PlainCall())
    assert asked == ["a", "c", "d"]


def test_edges_of_an_outranked_key():
    """An outranked key has one edge from every applicable key above it, and none from others."""
    keys = [
        candidate("g", general=True),
        candidate("a", over="b"),
        candidate("b", over="c", archs=[80]),
        candidate("c"),
    ]
    verdicts = {v.key: v for v in select(table(*keys), PlainCall()).verdicts}
    assert [(e.winner, e.kind.value, e.path) for e in verdicts["c"].edges] == [
        ("a", "chain", ("a", "b", "c"))
    ]
    assert {(e.winner, e.kind.value) for e in verdicts["g"].edges} == {
        ("a", "general"),
        ("c", "general"),
    }
    assert verdicts["a"].edges == verdicts["b"].edges == ()
    assert "a" in verdicts["c"].reason
