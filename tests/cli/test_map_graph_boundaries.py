"""``tileops map``, ``graph`` and ``boundaries`` in every form."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from itertools import pairwise
from xml.etree import ElementTree

import jsonschema
import pytest

BLEND = ("BlendFwdOp", "--import", "acme_blend", "--interface", "blend")


def test_a_line_folds_what_repeats(cli):
    """Intervals are exact; stripes are said by their remainders."""
    result = cli("map", *BLEND, "--vary", "n=1..600", "--arch", "90")
    lines = [" ".join(line.split()) for line in result.out.splitlines()]

    assert result.code == 0
    assert lines == [
        "BlendFwdOp.blend by default batch 1, scale none, mode FAST, causal false, on arch 90",
        "n from 1 to 600 exact",
        "1 to 256 blend_tma where n % 8 is 0",
        "1 to 256 blend_narrow otherwise",
        "257 to 600 blend_tma where n % 8 is 0",
        "257 to 600 blend otherwise",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(
            ("GQADenseFwdOp", "--vary", "heads=1..9", "--seqlen-kv", "64", "--gpu", "h200"),
            ["impossible at heads 1: heads must be a multiple of heads_kv, got 1 and 4"],
            id="impossible",
        ),
        pytest.param(
            ("LayerNormFwdOp", "--vary", "n=9..12", "--gpu", "b200"),
            [
                "unserved at n 9; ask why:",
                "tileops explain LayerNormFwdOp --interface layer_norm --n 9 --eps 1e-05 "
                "--dtype float16 --arch 100 --sm-count 148 --smem-budget 232448",
            ],
            id="unserved",
        ),
    ],
)
def test_a_line_says_why_nothing_is_selected(cli, words, said):
    """The first call of such an outcome has its reason, or the command that gives it."""
    lines = [" ".join(line.split()) for line in cli("map", *words).out.splitlines()]
    assert lines[-len(said) :] == said
    assert sum(" at " in line for line in lines) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(
            ("--vary", "heads=1..3"),
            "no heads from 1 to 3 makes a possible call\n"
            "cause: heads must be a multiple of heads_kv\n",
            id="one-reason",
        ),
        pytest.param(
            ("--vary", "heads=1..8", "--heads-kv", "8", "--is-causal", "--seqlen-q", "65"),
            "cause: at the low end, heads must be a multiple of heads_kv, got 1 and 8; "
            "at the high end, causal queries must not outnumber keys, got seqlen_q 65\n",
            id="another-reason-at-each-end",
        ),
        pytest.param(
            ("--vary", "heads=1..300", "--vary", "seqlen_q=65..66", "--is-causal"),
            "error: no possible call was found for heads from 1 to 300 and seqlen_q from 65 to 66",
            id="not-every-call-was-tried",
        ),
    ],
)
def test_a_span_without_a_possible_call_names_the_reasons_of_both_ends(cli, words, said):
    """The high end may fail for another reason than the low one."""
    result = cli("map", "GQADenseFwdOp", *words, "--seqlen-kv", "64", "--gpu", "h200")
    assert result.code == 2
    assert said in result.err


def test_a_long_span_is_searched_for_a_possible_call(cli):
    """The first possible call may lie far from the low end."""
    words = ("--vary", "heads=1..700", "--heads-kv", "512", "--seqlen-kv", "64", "--gpu", "h200")
    result = cli("map", "GQADenseFwdOp", *words)
    assert result.code == 0
    assert "  512  to 512  gqa_dense_decode" in result.out


def test_a_line_as_csv_is_gapless(cli):
    """Rows of the CSV form follow one another from end to end."""
    result = cli("map", *BLEND, "--vary", "n=1..600", "--arch", "90", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.out)))

    assert rows[0]["n_low"] == "1"
    assert rows[-1]["n_high"] == "600"
    assert all(int(after["n_low"]) == int(before["n_high"]) + 1 for before, after in pairwise(rows))
    by_low = {row["n_low"]: row["outcome"] for row in rows}
    assert by_low["8"] == "blend_tma"
    assert by_low["9"] == "blend_narrow"


def test_a_plane_has_a_cell_for_every_character(cli):
    """Two facts make a raster; capitals are proved."""
    words = ("--vary", "n=1..400", "--vary", "batch=1..8", "--arch", "80")
    result = cli("map", *BLEND, *words)
    first, *rest = result.out.splitlines()
    lines = [line.split() for line in rest]

    assert result.code == 0
    assert first == "BlendFwdOp.blend  by default scale none, mode FAST, causal false, on arch 80"
    assert "n 1 to 400 across, batch 1 to 8 up" in result.out
    assert ["B", "b", "blend_narrow"] in lines
    first_row = next(cells for tick, cells in lines[1:] if tick == "1")
    assert first_row.startswith("BBB")
    assert first_row.endswith("LLL")
    rows = list(csv.DictReader(io.StringIO(cli("map", *BLEND, *words, "--format", "csv").out)))
    assert {row["outcome"] for row in rows} >= {"blend_narrow", "blend"}


def test_a_line_may_begin_where_no_op_makes_a_call(cli):
    """Such calls are a part of the map, from its low end on."""
    words = ("--vary", "heads=1..9", "--heads-kv", "4", "--seqlen-kv", "64", "--gpu", "h200")
    result = cli("map", "GQADenseFwdOp", *words, "--format", "csv")

    assert result.code == 0
    rows = list(csv.DictReader(io.StringIO(result.out)))
    impossible = {
        number
        for row in rows
        if row["outcome"] == "impossible"
        for number in range(int(row["heads_low"]), int(row["heads_high"]) + 1)
    }
    assert impossible == {1, 2, 3, 5, 6, 7, 9}


def test_the_cells_of_a_plane_begin_at_round_numbers(cli):
    """Kernels that ask for multiples of 8 are seen where cells are that wide; the text says so."""
    words = ("--vary", "n=1..300", "--vary", "k=1..300", "--m", "16", "--gpu", "h200")
    text = cli("map", "GemmFwdOp", *words)
    rows = list(csv.DictReader(io.StringIO(cli("map", "GemmFwdOp", *words, "--format", "csv").out)))

    begin = {(int(row["n_low"]), int(row["k_low"])) for row in rows}
    assert {low % 8 for corner in begin for low in corner if low != 1} == {0}
    seen = {row["outcome"] for row in rows if (row["n_low"], row["k_low"]) == ("264", "128")}
    assert seen == {"gemm_skinny"}
    assert "a multiple of 8 across and of 8 up; the rest may differ" in text.out


@pytest.mark.parametrize("vary", [["n=1..600"], ["n=1..400", "batch=1..8"]])
def test_drawings_are_well_formed(cli, vary):
    """SVG parses and has a shape for every outcome; HTML holds it."""
    words = [word for one in vary for word in ("--vary", one)]
    svg = cli("map", *BLEND, *words, "--arch", "90", "--format", "svg").out
    page = cli("map", *BLEND, *words, "--arch", "90", "--format", "html").out
    titles = [one.text or "" for one in ElementTree.fromstring(svg).iter() if "title" in one.tag]

    assert any("blend_tma" in title for title in titles)
    assert svg in page


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        pytest.param(["--vary", "n=1-9"], "fact=low..high", id="form"),
        pytest.param(["--vary", "m=1..9"], "no integer fact 'm'", id="fact"),
        pytest.param(
            ["--vary", "n=0..9"],
            "the low end must be 1 or more, got 0\nhelp: --vary n=1..9\n",
            id="low-end",
        ),
        pytest.param(
            ["--vary", "n=4096..4097"],
            "the high end must be 4096 or less, got 4097\nhelp: --vary n=4096..4096\n",
            id="high-end",
        ),
        pytest.param(
            ["--vary", "n=-4..5000"],
            "the low end must be 1 or more, got -4 and the high end must be 4096 or less, got 5000"
            "\nhelp: --vary n=1..4096\n",
            id="both-ends",
        ),
        pytest.param(
            ["--vary", "n=4097..5000"],
            "--vary n=4097..5000: n must be 1 to 4096\n",
            id="wholly-above",
        ),
        pytest.param(
            ["--vary", "n=1..3", "--batch", "4"],
            "no n from 1 to 3 makes a possible call\ncause: batch must not exceed n\n",
            id="nothing-possible",
        ),
        pytest.param(["--vary", "n=-4..0"], "n must be 1 to 4096\n", id="wholly-below"),
        pytest.param(["--vary", "n=9..1"], "is above", id="order"),
        pytest.param([], "needs an OP and one --vary or two", id="nothing-varies"),
    ],
)
def test_what_cannot_be_mapped_is_a_usage_error(cli, words, fragment):
    """A word that is no axis is rejected with a sentence."""
    result = cli("map", *BLEND, "--arch", "90", *words)

    assert result.code == 2
    assert fragment in result.err


@pytest.mark.parametrize(
    ("form", "fragments"),
    [
        pytest.param("text", ["\n  blend_single\n  > blend_tma\n    > blend_narrow\n"
                              "      > blend  general\n"], id="text"),
        pytest.param("dot", ['"blend_tma" -> "blend_narrow"', '"blend" [style=dashed]'], id="dot"),
        pytest.param("mermaid", ["flowchart TD", "blend (general)"], id="mermaid"),
    ],
)  # fmt: skip
def test_a_graph_shows_precedence(cli, form, fragments):
    """Every form names the keys and who outranks whom."""
    result = cli("graph", *BLEND, "--format", form)

    assert result.code == 0
    assert all(fragment in result.out for fragment in fragments)


def test_an_undeclared_overlap_is_shown_with_a_call(cli):
    """Two keys without precedence that share a call are pointed out."""
    result = cli("graph", "BlendFwdOp", "--import", "acme_blend", "--interface", "split")

    assert "both serve some calls, NO precedence is declared" in result.out
    assert "--parts 5" in result.out


def test_keys_that_never_meet_share_a_line(cli):
    """However many pairs are proved apart, each key is named once with all of them."""
    lines = [" ".join(line.split()) for line in cli("graph", "GQADenseFwdOp").out.splitlines()]

    place = lines.index("proved to serve no call together:")
    assert "gqa_dense_fp8 and gqa_dense_decode, gqa_dense_prefill" in lines[place:]
    firsts = [line.split()[0] for line in lines[place + 1 :] if line]
    assert len(firsts) == len(set(firsts))


@pytest.mark.parametrize("command", ["graph", "boundaries"])
def test_json_is_what_its_schema_says(cli, command):
    """The JSON forms are valid."""
    schema = json.loads(cli(command, "--schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)

    jsonschema.validate(json.loads(cli(command, *BLEND, "--format", "json").out), schema)


def test_boundaries_name_both_sides(cli):
    """A row names the fact, its values on both sides and what they select."""
    result = cli("boundaries", *BLEND, "--gpu", "a100")
    rows = [line.split()[:5] for line in result.out.splitlines()]

    assert ["n", "256", "blend_narrow", "257", "blend"] in rows


def test_boundaries_become_a_test_that_passes(cli, tmp_path, environment):
    """The generated module runs as it is and passes."""
    (tmp_path / "test_generated.py").write_text(
        cli("boundaries", *BLEND, "--format", "pytest").out, encoding="utf-8"
    )
    packages = str(__file__).rpartition("/")[0] + "/packages"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_generated.py"],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": f"{environment['PYTHONPATH']}:{packages}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout


def test_a_generated_test_imports_what_the_question_imported(cli, tmp_path, environment):
    """Keys that a module registers are there when the test runs, and both sides pass."""
    text = cli(
        *("boundaries", "LayerNormFwdOp", "--import", "acme_short_rows", "--format", "pytest")
    ).out
    (tmp_path / "test_registered.py").write_text(text, encoding="utf-8")
    packages = str(__file__).rpartition("/")[0] + "/packages"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_registered.py"],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": f"{environment['PYTHONPATH']}:{packages}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "import acme_short_rows" in text
    assert 'acme_short_rows"' in text
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout


def test_a_test_without_a_case_is_said(cli):
    """An interface whose calls all select one key has no boundary; one that has is not named."""
    alone = cli("boundaries", "LayerNormFwdOp", "--format", "pytest")
    many = cli("boundaries", *BLEND, "--format", "pytest")

    assert alone.code == 0
    assert alone.err == (
        "note: LayerNormFwdOp.layer_norm has no boundaries, so its test has no case\n"
    )
    assert "note: " not in many.err
