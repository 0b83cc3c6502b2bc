"""``tileops audit``: proofs, findings and exit codes, in every form."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

BLEND = ("audit", "BlendFwdOp", "--import", "acme_blend")


def test_the_tree_is_proved(cli):
    """Every interface of the tree is unambiguous and modelled whole; nothing is to mend."""
    result = cli("audit", "--strict")

    assert result.code == 0
    assert "0 findings, 0 not proved" in result.out
    assert "REFUTED" not in result.out


def test_findings_come_with_commands_and_remedies(cli):
    """What is wrong is said by the calls it is wrong for, and how to see and settle it."""
    result = cli(*BLEND)
    lines = [line.strip() for line in result.out.splitlines()]

    assert result.code == 1
    assert "raises  blend_single: refusal raised ArithmeticError: no such size" in lines
    assert "where parts > 4" in lines
    assert any(
        line.startswith('settle it: preferred_over = frozenset({"split"})  in SplitManyKernel')
        for line in lines
    )
    assert lines[-1] == "2 interfaces, 1 proved unambiguous everywhere, 2 findings, 0 not proved"


def test_the_terms_that_are_used_are_said_at_the_end(cli):
    """A reader needs no other page: each term has a line, and none that did not occur."""
    attention = cli("audit", "GQADenseFwdOp").out
    refuted = cli(*BLEND).out

    terms = {
        text: [line[2:].split("  ")[0] for line in text.partition("\nwords\n")[2].splitlines()[:-2]]
        for text in (attention, refuted)
    }
    assert terms[attention] == ["unambiguous", "served", "PROVED", "unserved, accepted"]
    assert terms[refuted] == ["unambiguous", "served", "PROVED", "REFUTED"]
    assert not re.search(r"\[\d+\]", attention)


def test_long_lists_and_conditions_take_several_lines(cli):
    """Keys, ranges and what makes a call possible fit a page."""
    lines = cli("audit", "GQADenseFwdOp").out.splitlines()

    assert max(map(len, lines)) <= 100
    assert "  where all of" in lines
    assert "          heads % heads_kv == 0" in lines


def test_every_command_shows_what_it_is_shown_for(cli):
    """The commands of an audit, run, end as the finding says."""
    result = cli(*BLEND)
    commands = [line.split() for line in result.out.splitlines() if "tileops explain" in line]

    assert len(commands) == 2
    for words in commands:
        explained = cli(*words[1:])
        assert explained.code == 1
        assert re.search("ambiguous|defective", explained.out)


def test_one_interface_can_be_audited(cli):
    """Only the interface named is answered for."""
    result = cli(*BLEND, "--interface", "blend")

    assert "BlendFwdOp.split" not in result.out
    assert cli(*BLEND, "--interface", "blen").code == 2


@pytest.mark.parametrize("words", [("audit",), BLEND])
def test_json_is_what_its_schema_says(cli, words):
    """The JSON form is valid and tells the exit code's reason."""
    schema = json.loads(cli("audit", "--schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    result = cli(*words, "--format", "json")
    answer = json.loads(result.out)

    jsonschema.validate(answer, schema)
    assert answer["clean"] == (result.code == 0)


def test_findings_annotate_lines(cli):
    """The GitHub form names the file below the working directory, and the line of the class."""
    result = cli(*BLEND, "--format", "github")

    assert result.code == 1
    assert re.search(
        r"::error file=acme_blend\.py,line=\d+,.*title=ambiguous-selection::", result.out
    )
    assert "title=raising-refusal" in result.out


def test_sarif_lists_the_rules(cli):
    """The SARIF form knows every rule, and where findings lie."""
    run = json.loads(cli(*BLEND, "--format", "sarif").out)["runs"][0]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}

    assert {one["ruleId"] for one in run["results"]} == {"ambiguous-selection", "raising-refusal"}
    assert rules >= {"unserved-calls", "dead-implementation", "idle-preference", "not-proved"}


def test_output_is_the_same_for_every_hash_seed(shell):
    """Neither hashes nor the solver make two runs differ."""
    outputs = {
        shell("tileops audit BlendFwdOp --import acme_blend --format json", PYTHONHASHSEED=seed).out
        for seed in ("0", "7")
    }

    assert len(outputs) == 1


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        pytest.param(["NoSuchOp"], "no op 'NoSuchOp'", id="unknown-op"),
        pytest.param(["--inventory", "nowhere"], "no such folder", id="no-inventory"),
    ],
)
def test_wrong_questions_are_usage_errors(cli, words, fragment):
    """Names that do not exist end with exit code 2 and a sentence."""
    result = cli("audit", *words)

    assert result.code == 2
    assert fragment in result.err
