"""Asking about classes that are not in the tree, with ``--import``."""

from __future__ import annotations

import pytest

NORM = ("explain", "LayerNormFwdOp", "--arch", "90")


@pytest.mark.parametrize(
    ("n", "selected"),
    [
        pytest.param(256, "acme_short_rows", id="at-its-limit"),
        pytest.param(257, "layer_norm", id="just-over"),
    ],
)
def test_a_registered_kernel_takes_part(cli, n, selected):
    """It wins inside its region by preference; outside, the in-tree kernel serves."""
    result = cli(*NORM, "--n", str(n), "--import", "acme_short_rows", "--all")

    assert result.code == 0
    assert f"selected {selected} " in result.out
    assert "from module acme_short_rows" in result.out
    assert "acme_short_rows > layer_norm" in " ".join(result.out.split())


def test_what_imported_code_prints_stays_off_stdout(cli):
    """Imports and refusals of others may print; the answer is not mixed with it."""
    result = cli(*NORM, "--n", "8", "--import", "acme_short_rows")

    assert "acme:" not in result.out
    assert "acme: importing\n" in result.err
    assert "acme: judging\n" in result.err


def test_registrations_without_precedence_are_ambiguous(cli):
    """The rival of an in-tree kernel ties with it; the command by facts imports it again."""
    result = cli(*NORM, "input=f16[4,8]", "normalized_shape=8", "--import", "acme_rival")

    assert result.code == 1
    assert "ambiguous" in result.out
    assert "tileops explain LayerNormFwdOp --interface layer_norm --import acme_rival" in result.out


def test_several_modules_may_be_imported(cli):
    """Each ``--import`` adds to the candidates."""
    result = cli(*NORM, "--n", "8", "--import", "acme_rival", "--import=acme_short_rows")

    assert result.code == 1
    assert "o layer_norm       outranked  by acme_short_rows: preferred_over" in result.out
    assert "? acme_rival       tied" in result.out
    assert "? acme_short_rows  tied" in result.out


def test_a_target_comes_first(cli):
    """When a target serves the op, it is said before the in-tree selection, and answers."""
    result = cli(*NORM[:2], "--arch", "100", "--n", "8", "--import", "acme_target")

    assert result.code == 0
    assert result.out.startswith("target   acme serves every call of LayerNormFwdOp (its detector)")
    assert "unserved" in result.out


def test_the_in_tree_kernels_can_be_forced(cli):
    """``--target builtin`` is the op's own target argument."""
    result = cli(*NORM, "--n", "8", "--import", "acme_target", "--target", "builtin")

    assert result.code == 0
    assert result.out.startswith("target   in-tree kernels (target=)")


def test_targets_that_contend_leave_it_undecided(cli):
    """Two targets that claim the device are no answer; naming one is."""
    undecided = cli(*NORM, "--n", "8", "--import", "acme_undecided")
    named = cli(*NORM, "--n", "8", "--import", "acme_undecided", "--target", "acme")

    assert undecided.code == 1
    assert "undecided" in undecided.out
    assert "acme, other all claim" in undecided.out
    assert named.code == 0


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        pytest.param(
            [*NORM, "--n", "8", "--import", "acme_missing"],
            ["cannot import acme_missing", "cause: ModuleNotFoundError"],
            id="no-such-module",
        ),
        pytest.param(
            [*NORM, "--n", "8", "--import", "acme_broken"],
            ["cannot import acme_broken", "cause: ImportError: acme needs libacme.so"],
            id="module-that-fails",
        ),
        pytest.param(
            ["explain", "MisfitFwdOp", "--n", "8", "--import", "acme_misfit"],
            ["MisfitFwdOp cannot be constructed", "more than one general implementation: one, two"],
            id="op-that-cannot-be-constructed",
        ),
    ],
)
def test_what_cannot_be_loaded_is_exit_3(cli, words, fragments):
    """The failure names what was to be loaded and the cause, without a traceback."""
    result = cli(*words)

    assert result.code == 3
    assert result.out == ""
    assert "Traceback" not in result.err
    for fragment in fragments:
        assert fragment in result.err


def test_help_lists_the_facts_of_an_imported_op(cli):
    """Type, range, whether required, and the default stand beside each fact."""
    result = cli("explain", "BlendFwdOp", "--import", "acme_blend", "--help")

    lines = {" ".join(line.split()) for line in result.out.splitlines()}
    assert result.code == 0
    assert "--n INT n of the call: 1 to 4096 (required)" in lines
    assert "--batch INT batch of the call: 1 or more (default 1)" in lines
    assert "--scale FLOAT scale of the call: 0.0 or more (default none)" in lines
    assert "--mode [FAST|EXACT] mode of the call (default FAST)" in lines
    assert "--causal / --no-causal causal of the call (default false)" in lines
    assert "--parts INT parts of the call: 1 or more (default 1)" in lines


def test_a_question_that_needs_torch_says_how_to_get_it(shell, environment, tmp_path):
    """Without torch the program still starts, and names the extra that installs it."""
    (tmp_path / "torch.py").write_text("raise ImportError('No module named torch')\n")

    result = shell(
        "tileops explain LayerNormFwdOp --n 8", PYTHONPATH=f"{tmp_path}:{environment['PYTHONPATH']}"
    )

    assert result.code == 3
    assert result.out == ""
    assert "help: pip install 'tileops[ops]'" in result.err


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        pytest.param("acme_short_rows.py", "write acme_short_rows\n", id="file"),
        pytest.param("./acme_short_rows.py", "write acme_short_rows\n", id="here"),
        pytest.param(
            "lab/acme_rows.py",
            "write acme_rows, asked from the folder lab or with that in PYTHONPATH\n",
            id="elsewhere",
        ),
        pytest.param(
            "lab/acme_rows", "write acme_rows, asked from the folder lab or", id="without-suffix"
        ),
    ],
)
def test_a_file_is_no_module(cli, given, remedy):
    """Whoever names the file is told the name of the module."""
    result = cli(*NORM, "--n", "8", "--import", given)

    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: {given!r} is a file, and a module is named as Python")
    assert f"help: {remedy}" in result.err


def test_a_missing_module_says_where_modules_are_looked_for(cli):
    """The folder of the command is one of the places."""
    result = cli(*NORM, "--n", "8", "--import", "acme_missing")
    assert "help: modules are looked for in the working directory, PYTHONPATH and" in result.err
