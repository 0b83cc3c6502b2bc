"""``tileops audit``: proofs, findings and exit codes, in every form."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import jsonschema
import pytest

PACKAGES = Path(__file__).with_name("packages")
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
    proved = ["unambiguous", "served", "PROVED"]
    assert terms[attention] == [*proved, "unserved, accepted", "no implementation"]
    assert terms[refuted] == [*proved, "REFUTED", "no implementation"]
    assert not re.search(r"\[\d+\]", attention)


ON_CPU = """
from tileops.backend import Kernel, register_kernel_type
from tileops.kernels.norm.call_spec import LayerNormFwdInterface

class RowsAnywhere(Kernel, LayerNormFwdInterface):
    preferred_over = frozenset({"layer_norm"})

    def forward(self, x, weight, bias):
        return x * 1

class RowsOnCpu(RowsAnywhere):
    devices = frozenset({"cpu"})
    preferred_over = frozenset()

register_kernel_type("LayerNormFwdOp", "rows_on_cpu", RowsOnCpu)
register_kernel_type("LayerNormFwdOp", "rows_anywhere", RowsAnywhere)
"""


def test_a_place_without_a_finding_says_why(cli, shell, tmp_path):
    """A GPU that no key is for, and a device of which no board is described."""
    (tmp_path / "rows_on_cpu.py").write_text(ON_CPU)
    in_tree = lines_of(cli("audit", "RMSNormFwdOp").out)
    added = shell("tileops audit LayerNormFwdOp --import rows_on_cpu", cwd=tmp_path)
    everywhere = lines_of(added.out)

    no_key = (
        "no implementation no key is for that architecture; calls are unserved there, no finding"
    )
    no_board = (
        "no known board the proof holds there, though no board of it is described; no finding"
    )
    assert "SM100 no implementation b200" in in_tree
    assert (no_key in in_tree, no_board in in_tree) == (True, False)
    assert "cpu unambiguous PROVED served PROVED no known board" in everywhere
    assert (no_key in everywhere, no_board in everywhere) == (False, True)


def lines_of(text):
    return [" ".join(line.split()) for line in text.splitlines()]


ANY_DTYPE = """\
from dataclasses import dataclass

import torch

from tileops.backend import CallSpec, Kernel, KernelInterface
from tileops.ops.op import Op


@dataclass(frozen=True)
class CopyCall(CallSpec):
    dtype: torch.dtype = torch.float16
    accumulator: torch.dtype | None = None
    wide: bool = False


class CopyFwdInterface(KernelInterface):
    request = CopyCall

    def forward(self, x): ...


class CopyKernel(Kernel, CopyFwdInterface):
    def forward(self, x):
        return x


class CopyFwdOp(Op):
    kernel_types = {"copy": CopyKernel}
    interfaces = {"copy": CopyFwdInterface}
"""


def test_a_dtype_without_a_range_is_any_dtype(cli, tmp_path, monkeypatch):
    """The dtypes that torch has are not listed one by one; other choices are."""
    (tmp_path / "copies.py").write_text(ANY_DTYPE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    lines = cli("audit", "CopyFwdOp", "--import", "copies").out.splitlines()

    over = "  over  dtype any dtype; accumulator any dtype or none; wide false, true"
    assert over in lines


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


@pytest.fixture
def checkout(tmp_path, shell, environment):
    """A repository with a backend in ``src``, and how to run tileops in one of its folders."""
    source = tmp_path / "repository" / "src"
    source.mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    for name in ("acme_blend.py", "acme_rival.py"):
        shutil.copy(PACKAGES / name, source)
    paths = os.pathsep.join([environment["PYTHONPATH"], str(source)])

    def run(words, folder="."):
        return shell(f"tileops {words}", tmp_path / "repository" / folder, PYTHONPATH=paths)

    return source, run


def line_of(file, text):
    """The line of a file that begins with a text, counted from one."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return next(place for place, one in enumerate(lines, start=1) if one.startswith(text))


@pytest.mark.parametrize("folder", [".", "src"])
def test_findings_annotate_lines(checkout, folder):
    """The GitHub form names the file as the repository does, and the line of the class."""
    source, run = checkout
    line = line_of(source / "acme_blend.py", "class BlendSingleKernel")
    result = run("audit BlendFwdOp --import acme_blend --format github", folder)

    assert result.code == 1
    assert re.search(
        rf"^::error file=src/acme_blend\.py,line={line},.*title=raising-refusal::",
        result.out,
        re.M,
    )
    assert "file=src/acme_blend.py,line=" in result.out
    assert result.out.count("::error file=src/acme_blend.py,") == result.out.count("::error ")


def test_a_finding_between_repositories_stands_in_the_one_at_hand(checkout):
    """Of the in-tree class and the backend's, the backend's is what its author can change."""
    source, run = checkout
    line = line_of(source / "acme_rival.py", "class RivalKernel")
    words = "audit LayerNormFwdOp --import acme_rival --format"

    annotated = run(f"{words} github").out
    uploaded = json.loads(run(f"{words} sarif").out)["runs"][0]["results"]

    assert f"::error file=src/acme_rival.py,line={line}," in annotated
    assert "title=ambiguous-selection::" in annotated
    places = [one["locations"][0]["physicalLocation"] for one in uploaded]
    assert {one["artifactLocation"]["uri"] for one in places} == {"src/acme_rival.py"}
    assert {one["region"]["startLine"] for one in places} == {line}


def test_an_installed_class_is_not_of_the_checkout(checkout):
    """A virtual environment inside the repository holds none of its files."""
    source, run = checkout
    installed = source / "site-packages"
    installed.mkdir()
    shutil.move(source / "acme_rival.py", installed)
    (source / "acme_rival.py").symlink_to(installed / "acme_rival.py")

    annotated = run("audit LayerNormFwdOp --import acme_rival --format github").out

    assert "::error file=tileops/kernels/norm/layer_norm.py," in annotated


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
    ("words", "code", "fragment"),
    [
        pytest.param(["NoSuchOp"], 2, "no op 'NoSuchOp'", id="unknown-op"),
        pytest.param(["--inventory", "nowhere"], 3, "no such folder", id="no-inventory"),
    ],
)
def test_what_cannot_be_audited_is_said(cli, words, code, fragment):
    """Names that do not exist end with a sentence, and an exit code that tells words from files."""
    result = cli("audit", *words)

    assert result.code == code
    assert fragment in result.err
