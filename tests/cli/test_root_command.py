"""The root command: help, version, the program itself, and what each of them loads."""

from __future__ import annotations

import re
from importlib.metadata import version

import pytest

from tileops.cli import _index

HEAVY = {"torch", "tilelang", "z3", "libcst", "numpy", "yaml"}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--help"], id="root-help"),
        pytest.param(["--version"], id="version"),
        pytest.param(["explain", "--help"], id="command-help"),
        pytest.param(["explain", "LayerNormFwdOp", "--help"], id="op-help"),
        pytest.param(["explain", "--schema"], id="schema"),
        pytest.param(["explain", "LayerNormFwd"], id="unknown-op"),
        pytest.param(["explain", "LayerNormFwdOp", "--n", "x"], id="no-number"),
    ],
)
def test_what_needs_no_torch_loads_none(modules_after, words):
    """Help, versions, the schema and usage failures come from static data."""
    assert modules_after(*words).isdisjoint(HEAVY)


def test_an_answer_loads_torch_but_not_tilelang(modules_after):
    """Selection runs no kernel, so nothing that compiles kernels is loaded."""
    loaded = modules_after("explain", "LayerNormFwdOp", "--n", "256", "--arch", "90")

    assert "torch" in loaded
    assert loaded.isdisjoint({"tilelang", "tvm", "z3", "libcst", "rich"})


def test_the_installed_program_is_the_same_entry_point(shell):
    """``tileops``, ``python -m tileops`` and both of their help texts agree."""
    result = shell("tileops --help; python -m tileops --help")

    first, second = result.out.split("Usage: ")[1:]
    assert first == second
    assert first.startswith("tileops [OPTIONS] COMMAND")
    assert re.search(r"explain +Explain which kernel a call selects", first)


def test_help_describes_the_op_argument_and_the_options_once(cli):
    """The argument has its help, in one section, and every option a line."""
    result = cli("explain", "LayerNormFwdOp", "--help")

    assert result.code == 0
    assert result.out.count("The class name of an op, such as LayerNormFwdOp.") == 1
    assert result.out.count("The call as tensors and parameters, such as") == 1
    assert result.out.count("rguments:\n") == 1
    assert "\\[" not in result.out
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert "[OP] The class name of an op, such as LayerNormFwdOp." in lines
    text = " ".join(lines)
    assert "--n INT Elements of a row, which is normalized by itself: 1 to 2147483647 (req" in text
    assert "--dtype DTYPE Of every tensor: float16, bfloat16, float32 (default float16)" in text
    assert "-h, --help Show this message and exit." in lines


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_has_two_spellings_at_every_level(cli, flag):
    """Both answer with usage on stdout."""
    for words in ([flag], ["explain", flag]):
        result = cli(*words)
        assert (result.code, result.err) == (0, "")
        assert result.out.startswith("Usage: tileops")


def test_no_command_is_wrong_usage(cli):
    """The help is shown, and the code says that nothing was asked."""
    result = cli()

    assert result.code == 2
    assert "Usage: tileops" in result.out + result.err


def test_version_names_what_ops_need(cli):
    """One distribution a line, each with the version installed."""
    result = cli("--version")

    expected = [f"{name} {version(name)}" for name in ("tileops", "torch", "tilelang", "z3-solver")]
    assert result.code == 0
    assert result.out.splitlines() == expected


def test_the_static_index_is_fresh():
    """``python -m tileops.cli._index`` writes what the ops declare; the stored file equals it."""
    stored = _index.files("tileops.cli").joinpath(_index.FILE).read_text(encoding="utf-8")

    assert stored == _index.build()
