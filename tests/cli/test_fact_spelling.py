"""Facts whose names or values a command line could misread, written and read the same way."""

from __future__ import annotations

import json
import shlex

import pytest

from tileops.cli._app import load_command
from tileops.selection import OPTION_NAMES, fact_flag

WORDS = ("explain", "WordsFwdOp", "--import", "acme_words", "--arch", "90")

DEVICE = {"arch", "device", "gpu", "sm-count", "smem-budget"}


def facts_of(result):
    """Return the facts in a JSON answer by name."""
    (interface,) = json.loads(result.out)["interfaces"]
    return {name: fact["value"] for name, fact in interface["facts"].items()}


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        pytest.param("n", "--n", id="plain"),
        pytest.param("heads_kv", "--heads-kv", id="underscore"),
        pytest.param("format", "--fact-format", id="an-option"),
        pytest.param("why_not", "--fact-why-not", id="an-option-of-two-words"),
    ],
)
def test_a_fact_named_like_an_option_gets_another_name(name, flag):
    """The option of the command keeps its own."""
    assert fact_flag(name) == flag


@pytest.mark.parametrize("name", ["explain", "map"])
def test_every_option_of_a_command_that_takes_facts_is_known(name):
    """Otherwise a fact of that name would hide the option, or be hidden."""
    own = {option for one in load_command(name).params for option in one.opts}
    long = {option.removeprefix("--") for option in own if option.startswith("--")}

    assert long <= OPTION_NAMES | DEVICE


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        pytest.param(["--fact-format", "7"], {"format": 7}, id="format"),
        pytest.param(["--fact-target=y", "--target", "builtin"], {"target": "y"}, id="target"),
        pytest.param(["--fact-schema"], {"schema": True}, id="boolean"),
        pytest.param(["--no-fact-schema"], {"schema": False}, id="boolean-denied"),
        pytest.param(["--fact-schema", "true"], {"schema": True}, id="boolean-with-a-value"),
        pytest.param(["--fact-schema=False"], {"schema": False}, id="boolean-assigned"),
        pytest.param(["--causal", "none"], {"causal": None}, id="none"),
        pytest.param(["--causal=NONE"], {"causal": None}, id="none-assigned"),
        pytest.param(["--causal", "false"], {"causal": False}, id="false"),
        pytest.param(["--causal"], {"causal": True}, id="bare"),
        pytest.param(["--no-causal"], {"causal": False}, id="denied"),
        pytest.param(["--causal", "--fact-format", "2"], {"causal": True, "format": 2}, id="next"),
        pytest.param(["--modes", "{'c', 'b'}"], {"modes": "{'b', 'c'}"}, id="set"),
        pytest.param(["--modes", "{}"], {"modes": "{}"}, id="empty-set"),
        pytest.param(["--sizes", "3"], {"sizes": [3]}, id="one-size"),
        pytest.param(["--sizes", "(3, 4)"], {"sizes": [3, 4]}, id="sizes"),
    ],
)
def test_values_are_read(cli, words, facts):
    """Each spelling means its value."""
    assert facts.items() <= facts_of(cli(*WORDS, "--format", "json", *words)).items()


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        pytest.param(["--causal", "maybe"], "'maybe' is no name=value", id="not-a-boolean"),
        pytest.param(
            ["--causal=maybe"], "--causal takes true or false or none; got 'maybe'", id="assigned"
        ),
        pytest.param(["--modes", "{b}"], "--modes takes values with commas", id="unquoted"),
        pytest.param(["--sizes", "3,x"], "--sizes takes values with commas", id="not-a-size"),
    ],
)
def test_other_values_are_rejected(cli, words, fragment):
    """With the option's own name in the sentence."""
    result = cli(*WORDS, *words)

    assert result.code == 2
    assert fragment in result.err


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([], id="defaults"),
        pytest.param(
            ["--fact-format", "3", "--fact-target", "json", "--fact-schema", "--causal"], id="given"
        ),
        pytest.param(["--no-causal", "--modes", "{}", "--sizes", "()"], id="empty"),
    ],
)
def test_the_command_shows_the_same_again(cli, words):
    """The facts that an answer's command states are those of the answer."""
    first = cli(*WORDS, *words, "--format", "json")
    (group,) = json.loads(first.out)["interfaces"][0]["groups"]

    again = cli(*shlex.split(group["command"])[1:], "--format", "json")

    assert facts_of(again) == facts_of(first)
    (same,) = json.loads(again.out)["interfaces"][0]["groups"]
    assert (same["verdicts"], same["command"]) == (group["verdicts"], group["command"])


def test_a_set_is_spelled_alike_under_every_hash_seed(shell):
    """The order of a set differs between processes, its spelling does not."""
    line = shlex.join(["tileops", *WORDS, "--modes", "{'p', 'q', 'r', 's', 't'}"])

    outs = {shell(line, PYTHONHASHSEED=seed).out for seed in ("1", "2", "3")}

    (out,) = outs
    assert "modes {'p', 'q', 'r', 's', 't'}" in out


def test_facts_without_an_arch_say_that_none_is_stated(cli):
    """The reason names the option that would help."""
    result = cli("explain", "LayerNormFwdOp", "--n", "8", "--smem-budget", "65536")

    assert result.code == 1
    assert "got none: no arch is stated or read off a device; --arch 90" in result.out
