"""What ``tileops explain`` says to people: the text and the Markdown form."""

from __future__ import annotations

import re

import pytest

BLEND = ("explain", "BlendFwdOp", "--import", "acme_blend", "--interface", "blend")


def line_of(text: str, start: str) -> str:
    """Return the one line that begins so, spaces collapsed."""
    found = [re.sub(r" +", " ", line.strip()) for line in text.splitlines()]
    (line,) = [line for line in found if line.startswith(start)]
    return line


def test_the_selected_kernel_and_its_source_are_named(cli):
    """The answer names the key, the class, its file and line, and the target stage."""
    result = cli("explain", "LayerNormFwdOp", "--n", "256", "--arch", "90")

    assert result.code == 0
    assert result.err == ""
    assert line_of(result.out, "selected layer_norm").startswith("selected layer_norm on arch 90")
    assert re.search(r"LayerNormKernel, tileops/kernels/norm/layer_norm\.py:\d+$", result.out, re.M)
    assert line_of(result.out, "target") == "target in-tree kernels (no target claims the device)"


def test_facts_not_given_are_marked(cli):
    """The facts that took their default stand behind those that were given."""
    result = cli("explain", "LayerNormFwdOp", "--n", "256", "--dtype", "float16", "--arch", "90")

    assert line_of(result.out, "LayerNormFwdOp.layer_norm") == (
        "LayerNormFwdOp.layer_norm n 256, dtype float16; by default eps 1e-05"
    )


def test_device_facts_taken_from_a_board_are_marked(cli):
    """An arch alone leaves facts to the catalogue's first board of it, and the answer says so."""
    assumed = cli("explain", "LayerNormFwdOp", "--n", "256", "--arch", "86")
    stated = cli("explain", "LayerNormFwdOp", "--n", "256", "--gpu", "rtx3090")

    assert "(facts not stated are those of a40)" in assumed.out
    assert "facts not stated" not in stated.out
    assert "on rtx3090" in stated.out


@pytest.mark.usefixtures("no_gpu")
def test_every_known_board_is_grouped_by_outcome(cli):
    """Without a GPU and a device option, boards that come to the same end share a paragraph."""
    result = cli("explain", "LayerNormFwdOp", "--n", "256")

    assert result.code == 0
    assert "no GPU here and none named: every known board" in result.out
    assert line_of(result.out, "selected layer_norm") == (
        "selected layer_norm on a100, a40, rtx3090, l4, l40s, rtx4090, h100, h100-pcie, h200"
    )
    assert line_of(result.out, "unserved").endswith("on b200")


@pytest.mark.usefixtures("no_gpu")
def test_boards_that_differ_only_in_an_observed_value_share_a_group(cli):
    """The reason then lists every value observed."""
    result = cli(*BLEND, "--n", "7")

    assert "selected blend_narrow  on a100, a40, rtx3090, l4, l40s, rtx4090\n" in result.out
    assert re.search(r"x blend_tma +arch +supports arch 90, got 80, 86, 89\n", result.out)


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        pytest.param(
            ["--n", "200"],
            "* blend_tma selected BlendTmaKernel, acme_blend.py:86, from module acme_blend",
            id="selected",
        ),
        pytest.param(
            ["--n", "200"], "o blend_narrow outranked by blend_tma: preferred_over", id="direct"
        ),
        pytest.param(
            ["--n", "200"],
            "o blend outranked by blend_narrow, blend_tma: blend is general",
            id="general",
        ),
        pytest.param(
            ["--n", "7", "--causal"],
            "o blend_narrow outranked by blend_single: preferred_over through blend_tma",
            id="chain-through-a-refusing-key",
        ),
        pytest.param(
            ["--n", "200", "--batch", "2"],
            "x blend_single refused serves batch 1, got 2",
            id="refused",
        ),
        pytest.param(
            ["--n", "666"],
            "! blend_single raised refusal raised ArithmeticError: no such size",
            id="raised",
        ),
    ],
)
def test_every_candidate_has_its_stage_and_reason(cli, facts, line):
    """A candidate's line holds its stage and reason; an outranked one's, the edge."""
    result = cli(*BLEND, "--arch", "90", *facts)

    assert line_of(result.out, " ".join(line.split()[:3])) == line


def test_a_candidate_of_another_arch_is_excluded_before_its_refusal(cli):
    """Availability is asked first: n = 7 is refused by blend_tma, which cannot run here anyway."""
    result = cli(*BLEND, "--arch", "80", "--n", "7")

    assert line_of(result.out, "x blend_tma") == "x blend_tma arch supports arch 90, got 80"


def test_the_general_implementation_is_named_when_it_wins(cli):
    """A fall-back is selected where nothing else serves the call, and the answer says so."""
    result = cli(*BLEND, "--arch", "90", "--n", "1001")

    assert result.code == 0
    assert "selected blend  the general implementation, on arch 90" in result.out


def test_the_precedence_graph_marks_the_edges_that_decided(cli):
    """Every edge of the interface is listed; those between applicable keys are marked."""
    result = cli(*BLEND, "--arch", "90", "--n", "200", "--all")

    edges = result.out.split("precedence\n")[1].partition("\n\n")[0]
    assert [re.sub(r" +", " ", line.strip()) for line in edges.splitlines()] == [
        "blend_narrow > blend blend is general decided here",
        "blend_tma > blend_narrow preferred_over decided here",
        "blend_tma > blend blend is general decided here",
        "blend_single > blend_tma preferred_over",
        "blend_single > blend_narrow preferred_over through blend_tma",
        "blend_single > blend blend is general",
    ]


def test_the_columns_of_all_candidates_begin_at_the_same_place(cli):
    """Stages stand under stages, reasons under reasons, classes under classes."""
    result = cli(*BLEND, "--arch", "90", "--n", "200", "--all")

    verdicts = [one for one in result.out.splitlines() if re.match(r"  [*o?x!] ", one)]
    assert {re.search(r"selected|outranked|refused", one).start() for one in verdicts} == {18}
    assert {re.search(r"(by|serves) ", one).start() for one in verdicts if one[2] != "*"} == {29}
    listed = result.out.partition("candidates")[2]
    candidates = [one for one in listed.splitlines() if "acme_blend.py:" in one]
    assert len(candidates) == 4
    assert len({re.search(r"Blend\w*Kernel", one).start() for one in candidates}) == 1
    assert len({one.index("acme_blend.py:") for one in candidates}) == 1


def test_what_the_outcome_does_not_rest_on_is_shown_on_demand(cli):
    """Conditions that hold, classes and precedence come with --all; the answer says so."""
    question = ("explain", "GQADenseFwdOp", "--seqlen-kv", "1024", "--gpu", "h200")
    essential, whole = cli(*question), cli(*question, "--all")

    assert "      x seqlen_q >= 2  is 1" in essential.out
    assert not re.search(r"^ +\+ |^candidates$|^precedence$", essential.out, re.M)
    assert "--all shows every condition, class and precedence" in essential.out
    assert re.search(r"^      \+ dim <= 256 ", whole.out, re.M)
    assert re.search(r"^candidates$.*^precedence$", whole.out, re.M | re.S)
    assert "--all" not in whole.out


@pytest.mark.usefixtures("no_gpu")
def test_an_answer_for_every_board_is_short(cli):
    """Conditions are left to a question about one board; boards without a kernel take a line."""
    result = cli("explain", "GQADenseFwdOp", "--seqlen-kv", "1024")

    lines = result.out.splitlines()
    assert len(lines) < 30
    assert "tileops/kernels/attention/gqa/prefill.py" not in result.out
    place = lines.index("unserved: no implementation serves this call  on a40, rtx3090, b200")
    assert lines[place + 1 : place + 3] == ["  x all keys are for arch 80, 89, 90", ""]
    assert "--gpu BOARD is about one board" in lines[-1]


@pytest.mark.parametrize(
    ("words", "marks"),
    [
        pytest.param(
            ["--n", "7"],
            "* selected o would serve, outranked x does not serve, or a condition that fails",
            id="condition",
        ),
        pytest.param(
            ["--n", "7", "--batch", "2", "--all"],
            "* selected o would serve, outranked x does not serve, or a condition that fails "
            "+ a condition that holds",
            id="all-conditions",
        ),
        pytest.param(
            ["--n", "666"],
            "? would serve, tied ! its refusal failed x does not serve, or a condition that fails",
            id="raised",
        ),
    ],
)
def test_marks_are_said_at_the_end(cli, words, marks):
    """Every mark that is printed has its meaning, and no other."""
    result = cli(*BLEND, "--arch", "90", *words)

    assert line_of(result.out, "marks") == f"marks {marks}"


def test_a_single_mark_needs_no_legend(cli):
    """The word beside it says the same."""
    result = cli("explain", "LayerNormFwdOp", "--n", "256", "--gpu", "h200")

    assert "* layer_norm  selected" in result.out
    assert "marks" not in result.out
    assert "--all" not in result.out


def test_all_interfaces_are_explained_unless_one_is_named(cli):
    """An op with two interfaces is answered for both, and fails when one of them does."""
    both = cli("explain", "BlendFwdOp", "--import", "acme_blend", "--n", "8", "--arch", "90")
    split = ("explain", "BlendFwdOp", "--import", "acme_blend", "--interface", "split")
    clash = cli(*split, "--n", "8", "--parts", "5", "--arch", "90")

    assert both.code == 0
    assert "selected blend_tma" in both.out
    assert "selected split " in both.out
    assert clash.code == 1
    assert "ambiguous: several implementations serve this call" in clash.out
    assert "? split       tied" in clash.out
    assert "? split_many  tied" in clash.out
    assert "BlendFwdOp.blend" not in clash.out


@pytest.mark.parametrize(
    ("form", "line"),
    [
        pytest.param((), "\nBlendFwdOp.blend  not asked, for no op makes such a call: ", id="text"),
        pytest.param(
            ("--format", "md"),
            "\n### `BlendFwdOp.blend`\n\nnot asked, for no op makes such a call: ",
            id="md",
        ),
    ],
)
def test_an_interface_that_no_op_asks_so_is_named_with_the_reason(cli, form, line):
    """The other interface is answered."""
    result = cli(*BLEND[:-2], "--arch", "90", "--n", "8", "--batch", "9", *form)

    assert result.code == 0
    assert f"{line}batch must not exceed n" in result.out
    assert "BlendFwdOp.split" in result.out


def test_markdown_is_a_table_per_group(cli):
    """The Markdown form holds the same verdicts, edges and commands, with cells escaped."""
    result = cli(*BLEND, "--arch", "90", "--n", "200", "--format", "md")
    unserved = cli("explain", "LayerNormFwdOp", "--n", "4", "--arch", "100", "--format", "md")

    assert result.code == 0
    assert "### `BlendFwdOp.blend`\n" in result.out
    assert "| **`blend_tma`** | selected |  | `acme_blend.py:" in result.out
    assert "| `blend_narrow` | outranked | by blend_tma: preferred_over |" in result.out
    assert "- `blend_tma` > `blend_narrow`: preferred_over, **decided here**\n" in result.out
    assert "- `blend_single` > `blend_tma`: preferred_over\n" in result.out
    assert unserved.code == 1
    assert "Reproduce it with" not in unserved.out
