"""``tileops explain``: conditions, --why-not, --expect, --with and --without."""

from __future__ import annotations

import json

import jsonschema
import pytest

BLEND = ("explain", "BlendFwdOp", "--import", "acme_blend", "--interface", "blend")


def test_conditions_of_a_refusal_are_shown(cli):
    """Each condition has its truth, the value seen and its line; those that fail come first."""
    result = cli(*BLEND, "--n", "203", "--arch", "90")
    lines = [line.split() for line in result.out.splitlines() if "acme_blend.py:9" in line]

    assert ["x", "n", "%", "8", "==", "0", "n", "is", "203,", "which", "makes", "3"] in [
        line[:12] for line in lines
    ]


@pytest.mark.parametrize(
    ("words", "key", "expected"),
    [
        pytest.param(["--n", "203", "--arch", "90"], "blend_tma", "--n 200 (is 203)", id="fact"),
        pytest.param(["--n", "200", "--arch", "80"], "blend_tma", "--gpu h100", id="machine"),
        pytest.param(["--n", "300", "--arch", "80"], "blend_narrow", "--n 256 (is 300)",
                     id="downwards"),
        pytest.param(["--n", "300", "--arch", "90", "--batch", "2"], "blend_single",
                     "--batch 1 (is 2) --causal", id="two-facts"),
    ],
)  # fmt: skip
def test_changes_that_select_a_key(cli, words, key, expected):
    """The change is named as options, and the command under it selects the key."""
    result = cli(*BLEND, *words, "--why-not", key)
    lines = [line.strip() for line in result.out.splitlines()]
    command = lines[lines.index(expected) + 1].split()

    assert command[:2] == ["tileops", "explain"]
    assert cli(*command[1:], "--expect", key).code == 0


def test_a_selected_key_is_said_to_be(cli):
    """Asking why the selected key is not selected is answered, too."""
    result = cli(*BLEND, "--n", "200", "--arch", "90", "--why-not", "blend_tma")

    assert "blend_tma is selected" in result.out


@pytest.mark.parametrize(
    ("words", "key", "code"),
    [
        pytest.param(["--arch", "90"], "blend_tma", 0, id="met"),
        pytest.param(["--arch", "80"], "blend_tma", 1, id="missed"),
        pytest.param(["--arch", "100"], "blend", 1, id="nothing-selected"),
    ],
)
def test_an_expectation_decides_the_exit_code(cli, words, key, code):
    """--expect is a test of selection in one line."""
    assert cli(*BLEND, "--n", "200", *words, "--expect", key).code == code


@pytest.mark.parametrize("option", ["--expect", "--why-not", "--without"])
def test_an_unknown_key_is_a_usage_error(cli, option):
    """A key that the op does not have is rejected with the nearest one."""
    result = cli(*BLEND, "--n", "200", "--arch", "90", option, "blend_tmb")

    assert result.code == 2
    assert "blend_tma" in result.err


def test_a_key_can_be_supposed_away(cli):
    """Without the selected key the next one is; preferences over a missing key fall away."""
    first = cli(*BLEND, "--n", "200", "--arch", "90", "--without", "blend_tma")
    second = cli(*BLEND, "--n", "200", "--arch", "90", "--without", "blend_narrow")

    assert "selected blend_narrow" in first.out
    assert "selected blend_tma" in second.out


@pytest.mark.parametrize("form", ["text", "md"])
def test_every_key_can_be_supposed_away(cli, form):
    """What is said then is of the supposition, not of the device."""
    words = ("explain", "LayerNormFwdOp", "--n", "256", "--gpu", "h200", "--format", form)
    result = cli(*words, "--without", "layer_norm")

    assert "not available: every key is supposed away" in result.out
    assert "no implementation runs on this device" not in result.out


def test_an_implementation_can_be_supposed(cli):
    """A class takes part before it is registered, under its own key or a given one."""
    call = ("explain", "LayerNormFwdOp", "--n", "256", "--arch", "90")
    kernel = "acme_short_rows:ShortRowsKernel"
    beside = cli(*call, "--with", kernel)
    instead = cli(*call, "--with", f"mine={kernel}", "--without", "acme_short_rows")

    assert "ambiguous" in beside.out
    assert "? short_rows" in beside.out
    assert "selected mine" in instead.out


@pytest.mark.parametrize(
    ("given", "fragment"),
    [
        pytest.param("ShortRows", "takes module:Class", id="form"),
        pytest.param("acme_short_rows:ShortRow", "ShortRows", id="class"),
        pytest.param("acme_blend:BlendTmaKernel", "could not have these keys", id="contract"),
    ],
)
def test_what_cannot_be_supposed_is_a_usage_error(cli, given, fragment):
    """A class that is none, or that breaks the op's contract, is rejected."""
    result = cli("explain", "LayerNormFwdOp", "--n", "256", "--arch", "90", "--with", given)

    assert result.code == 2
    assert fragment in result.err


def test_json_holds_conditions_and_changes(cli):
    """The JSON form has what the text has, as its schema says."""
    schema = json.loads(cli("explain", "--schema").out)
    words = ("--n", "203", "--arch", "90", "--why-not", "blend_tma", "--format", "json")
    answer = json.loads(cli(*BLEND, *words).out)
    (group,) = answer["interfaces"][0]["groups"]
    (change,) = group["why_not"]["changes"]

    jsonschema.validate(answer, schema)
    assert change["facts"] == {"n": {"old": 203, "new": 200}}
    (refused,) = [one for one in group["verdicts"] if one["key"] == "blend_tma"]
    assert refused["conditions"][-1] == {
        "condition": "n % 8 == 0",
        "holds": False,
        "observed": "n is 203, which makes 3",
        "location": refused["conditions"][-1]["location"],
    }
    assert refused["conditions"][-1]["location"].startswith("acme_blend.py:")


def test_markdown_holds_conditions_and_changes(cli):
    """The Markdown form lists conditions in a table and commands in a block."""
    words = ("--n", "203", "--arch", "90", "--why-not", "blend_tma", "--format", "md")
    result = cli(*BLEND, *words)

    assert "| **no** | `n % 8 == 0` | n is 203, which makes 3 | `acme_blend.py:" in result.out
    assert "    --n 200 (is 203)\n" in result.out
