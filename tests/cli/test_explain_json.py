"""What ``tileops explain`` says to programs: JSON that its own schema describes."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

BLEND = ("explain", "BlendFwdOp", "--import", "acme_blend", "--format", "json")


@pytest.fixture
def ask(cli):
    """Ask in JSON and validate the answer against the schema that ``--schema`` prints."""
    schema = json.loads(cli("explain", "--schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)

    def ask(*words):
        result = cli(*words)
        answer = json.loads(result.out, parse_constant=pytest.fail)
        jsonschema.validate(answer, schema)
        assert answer["answered"] == (result.code == 0)
        return answer

    return ask


def only_group(answer, interface="blend"):
    """Return the single group of an interface."""
    (one,) = [one for one in answer["interfaces"] if one["interface"] == interface]
    (group,) = one["groups"]
    return group


@pytest.mark.parametrize(
    ("words", "outcome", "selected"),
    [
        pytest.param(["--n", "200", "--parts", "2"], "selected", "blend_tma", id="selected"),
        pytest.param(["--n", "666", "--parts", "2"], "defective", None, id="defective"),
        pytest.param(
            ["--n", "8", "--device", "cpu", "--arch", "90"], "no_device", None, id="no-device"
        ),
    ],
)
def test_every_outcome_has_a_value_of_its_own(ask, words, outcome, selected):
    """Outcomes that end without a key stay distinct, and the document stays valid."""
    arch = () if "--arch" in words else ("--arch", "90")

    group = only_group(ask(*BLEND, *words, *arch))

    assert (group["outcome"], group["selected"]) == (outcome, selected)
    assert group["command"].startswith("tileops explain BlendFwdOp --interface blend ")


def test_unserved_and_ambiguous_are_distinct(ask):
    """An arch nobody supports is unserved; two applicable keys without precedence, ambiguous."""
    unserved = ask("explain", "LayerNormFwdOp", "--n", "4", "--arch", "100", "--format", "json")
    ambiguous = ask(*BLEND, "--interface", "split", "--n", "9", "--parts", "9", "--arch", "90")

    assert only_group(unserved, "layer_norm")["outcome"] == "unserved"
    assert only_group(ambiguous, "split")["outcome"] == "ambiguous"
    stages = {one["key"]: one["stage"] for one in only_group(ambiguous, "split")["verdicts"]}
    assert stages == {"split": "tied", "split_many": "tied"}


def test_facts_keep_their_types_and_say_which_are_defaults(ask):
    """Numbers, booleans and null stay what they are; names of members and dtypes are strings."""
    answer = ask(
        *BLEND, "--interface", "blend", "--n", "0x40", "--scale", "2", "--causal", "--arch", "sm_90"
    )

    facts = answer["interfaces"][0]["facts"]
    assert facts == {
        "n": {"value": 64, "default": False},
        "batch": {"value": 1, "default": True},
        "scale": {"value": 2.0, "default": False},
        "mode": {"value": "FAST", "default": True},
        "causal": {"value": True, "default": False},
    }


def test_an_interface_that_no_op_asks_so_is_left_out_with_the_reason(ask):
    """The other interfaces answer."""
    answer = ask(
        *("explain", "BatchNormFwdOp", "--n", "1", "--c", "8", "--spatial", "1"),
        *("--arch", "90", "--format", "json"),
    )

    assert [one["interface"] for one in answer["interfaces"]] == ["batch_norm_fwd_infer"]
    assert answer["impossible"] == {
        "batch_norm_fwd_train": "n * spatial must be more than 1 in training, got 1"
    }


def test_verdicts_hold_implementation_place_and_edges(ask):
    """A verdict names the class, its file and line, its origin and the edges that beat it."""
    group = only_group(ask(*BLEND, "--interface", "blend", "--n", "200", "--arch", "90"))

    verdicts = {one["key"]: one for one in group["verdicts"]}
    assert list(verdicts) == ["blend", "blend_narrow", "blend_tma", "blend_single"]
    assert verdicts["blend_narrow"]["implementation"] == "acme_blend.BlendNarrowKernel"
    assert re.fullmatch(r"acme_blend\.py:\d+", verdicts["blend_narrow"]["location"])
    assert verdicts["blend_narrow"]["module"] == "acme_blend"
    assert verdicts["blend_narrow"]["edges"] == [
        {
            "winner": "blend_tma",
            "loser": "blend_narrow",
            "kind": "direct",
            "path": ["blend_tma", "blend_narrow"],
        }
    ]
    assert verdicts["blend"]["general"] is True
    assert [one["winner"] for one in verdicts["blend"]["edges"]] == ["blend_narrow", "blend_tma"]


def test_the_precedence_graph_marks_the_edges_that_decided(ask):
    """Every edge is there with its kind; those between applicable keys are marked."""
    answer = ask(*BLEND, "--interface", "blend", "--n", "7", "--causal", "--arch", "90")

    graph = answer["interfaces"][0]["precedence"]
    assert graph["general"] == "blend"
    edges = {(one["winner"], one["loser"]): (one["kind"], one["decided"]) for one in graph["edges"]}
    assert edges == {
        ("blend_narrow", "blend"): ("general", True),
        ("blend_tma", "blend_narrow"): ("direct", False),
        ("blend_tma", "blend"): ("general", False),
        ("blend_single", "blend_tma"): ("direct", False),
        ("blend_single", "blend_narrow"): ("chain", True),
        ("blend_single", "blend"): ("general", True),
    }


@pytest.mark.usefixtures("no_gpu")
def test_every_known_board_is_asked_about(ask):
    """Without a GPU and a device option, each board stands in exactly one group."""
    answer = ask("explain", "LayerNormFwdOp", "--n", "256", "--format", "json")

    groups = answer["interfaces"][0]["groups"]
    assert answer["every_board"] is True
    assert [(group["outcome"], len(group["places"])) for group in groups] == [
        ("selected", 9),
        ("unserved", 1),
    ]
    assert groups[1]["places"] == ["b200"]
    assert groups[1]["device_facts"] == {"arch": 100, "sm_count": 148, "smem_budget": 232448}


def test_a_target_that_serves_the_op_is_reported(ask):
    """The target stage comes first; with a target the question is answered."""
    answer = ask(
        *("explain", "LayerNormFwdOp", "--n", "4", "--arch", "100", "--format", "json"),
        *("--import", "acme_target"),
    )

    assert answer["target"] == {
        "target": "acme",
        "source": "its detector",
        "problem": None,
        "registered": ["acme"],
    }
    assert answer["answered"] is True


def test_a_backend_that_does_not_load_is_reported(shell, environment, tmp_path):
    """The failing backend is named in the document and on stderr, without any absolute path."""
    (tmp_path / "acme_half.py").write_text("from tileops.backend import no_such_name\n")
    info = tmp_path / "acme_half-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-half\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[tileops.backends]\nhalf = acme_half\n")

    result = shell(
        "tileops explain LayerNormFwdOp --n 8 --arch 90 --format json\n"
        "tileops explain --schema >&2",
        PYTHONPATH=f"{environment['PYTHONPATH']}:{tmp_path}",
    )

    (failure,) = json.loads(result.out)["load_failures"]
    assert failure["name"] == "half"
    assert failure["module"] == "acme_half"
    assert failure["distribution"] == "acme-half 1.2"
    assert failure["error"].startswith("ImportError: cannot import name 'no_such_name'")
    assert str(tmp_path) not in result.out
    assert environment["PYTHONPATH"] not in result.out
    warning, schema = result.err.split("\n", 1)
    assert warning.startswith("warning: tileops backend 'half' (acme-half 1.2) failed to load")
    jsonschema.validate(json.loads(result.out), json.loads(schema))
