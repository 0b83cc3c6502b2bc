"""Shell completion: what the installed scripts ask the program, and what it answers."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest


def bash(line):
    """The variables that bash's function sets for a line with the cursor at its end."""
    count = len(line.split()) - (0 if line.endswith(" ") else 1)
    return {"_TILEOPS_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(count)}


def zsh(line):
    """The same for zsh."""
    return {"_TILEOPS_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": line}


def fish(line):
    """The same for fish."""
    return {
        "_TILEOPS_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        pytest.param("tileops exp", {"explain"}, id="command"),
        pytest.param("tileops explain Layer", {"LayerNormFwdOp"}, id="op"),
        pytest.param("tileops explain LayerNormFwdOp --d", {"--device", "--dtype"}, id="fact"),
        pytest.param("tileops explain LayerNormFwdOp --n", {"--n"}, id="fact-n"),
        pytest.param("tileops explain LayerNormFwdOp --dtype bf", {"bfloat16"}, id="dtype"),
        pytest.param("tileops explain LayerNormFwdOp --interface ", {"layer_norm"}, id="interface"),
        pytest.param("tileops explain LayerNormFwdOp --gpu l4", {"l4", "l40s"}, id="board"),
        pytest.param("tileops explain LayerNormFwdOp in", {"input="}, id="input"),
        pytest.param(
            "tileops explain LayerNormFwdOp bias=f16[8] ",
            {"input=", "weight=", "normalized_shape=", "eps="},
            id="inputs-and-parameters-left",
        ),
        pytest.param(
            "tileops explain LayerNormFwdOp --workload head-1",
            {"head-128-rows-1048576"},
            id="workload",
        ),
        pytest.param(
            "tileops rule register-d",
            {"register-duplicate-key"},
            id="rule",
        ),
        pytest.param("tileops explain LayerNormFwdOp --format ", {"text", "json", "md"}, id="form"),
    ],
)
def test_bash_is_offered_what_fits(cli, monkeypatch, line, offered):
    """Commands, ops, facts and their values complete."""
    for name, value in bash(line).items():
        monkeypatch.setenv(name, value)

    assert set(cli().out.split()) == offered


@pytest.mark.parametrize("shell_of", [zsh, fish])
@pytest.mark.parametrize(
    ("line", "fragments"),
    [
        pytest.param("tileops explain Layer", ["LayerNormFwdOp"], id="op"),
        pytest.param(
            "tileops explain LayerNormFwdOp --e",
            ["--eps", "What is added to the variance, or to the mean... (default 1e-05)"],
            id="fact-with-help",
        ),
    ],
)
def test_zsh_and_fish_are_offered_descriptions_too(cli, monkeypatch, shell_of, line, fragments):
    """A fact comes with its help on one line, the default included."""
    for name, value in shell_of(line).items():
        monkeypatch.setenv(name, value)

    result = cli()

    assert result.err == ""
    for fragment in fragments:
        assert fragment in result.out


@pytest.mark.parametrize("shell_of", [bash, zsh, fish])
@pytest.mark.parametrize(
    "line",
    [
        "tileops nothing ",
        "tileops explain Nothing --",
        "tileops explain LayerNormFwdOp --n x --zz ",
    ],
)
def test_a_line_that_makes_no_sense_yields_no_error(cli, monkeypatch, shell_of, line):
    """An error would land on the prompt."""
    for name, value in shell_of(line).items():
        monkeypatch.setenv(name, value)

    result = cli()

    assert result.err == ""
    assert "error" not in result.out


@pytest.mark.parametrize("shell_of", [bash, zsh, fish])
def test_completion_loads_no_torch(modules_after, shell_of):
    """Facts come from the static index, even with a module to import on the line."""
    line = "tileops explain LayerNormFwdOp --import acme_blend --"

    loaded = modules_after(**shell_of(line))

    assert "typer" in loaded
    assert loaded.isdisjoint({"torch", "tilelang", "z3", "libcst", "numpy", "acme_blend"})


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_the_script_of_every_shell_is_printed(cli, shell_name, monkeypatch):
    """The script asks the program through the variable that the tests above set."""
    monkeypatch.setenv("_TILEOPS_COMPLETE", f"source_{shell_name}")

    result = cli()

    assert result.code == 0
    assert f"_TILEOPS_COMPLETE=complete_{shell_name}" in result.out


ASK_BASH = """
source <(_TILEOPS_COMPLETE=source_bash tileops)
COMP_WORDS=(tileops explain LayerNormFwdOp --gpu l4); COMP_CWORD=4
_tileops_completion tileops
printf '%s\\n' "${COMPREPLY[@]}"
"""

# Outside of a prompt zsh has neither of these two; the second shows what it would be offered.
ASK_ZSH = """
compdef() { : }
_arguments() { print -rl -- "$@" }
source <(_TILEOPS_COMPLETE=source_zsh tileops)
words=(tileops explain LayerNormFwdOp --gpu l4); CURRENT=5
_tileops_completion
"""

ASK_FISH = """
_TILEOPS_COMPLETE=source_fish tileops | source
complete --do-complete 'tileops explain LayerNormFwdOp --gpu l4'
"""


@pytest.mark.parametrize(
    ("program", "script"),
    [
        pytest.param(["bash", "--norc", "-c"], ASK_BASH, id="bash"),
        pytest.param(["zsh", "-f", "-c"], ASK_ZSH, id="zsh"),
        pytest.param(["fish", "--no-config", "--command"], ASK_FISH, id="fish"),
    ],
)
def test_a_real_shell_is_offered_the_boards(environment, program, script):
    """The printed script is loaded by the shell itself, which then completes a line with it."""
    if shutil.which(program[0]) is None:
        pytest.skip(f"{program[0]} is not installed")

    done = subprocess.run(
        [*program, script], env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert re.findall(r"\bl4\w*", done.stdout) == ["l4", "l40s"]


@pytest.mark.parametrize(
    ("shell_name", "file", "line"),
    [
        pytest.param("bash", ".bashrc", "source '{home}/.bash_completions/tileops.sh'", id="bash"),
        pytest.param("zsh", ".zfunc/_tileops", "#compdef tileops", id="zsh"),
        pytest.param(
            "fish", ".config/fish/completions/tileops.fish", "complete --command tileops", id="fish"
        ),
    ],
)
def test_completion_is_installed_where_the_shell_looks(
    environment, tmp_path, shell_name, file, line
):
    """``--install-completion`` writes for the shell that it is run in."""
    if shutil.which(shell_name) is None:
        pytest.skip(f"{shell_name} is not installed")

    done = subprocess.run(
        [shell_name, "-c", "tileops --install-completion; true"],
        env={**environment, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert f"{shell_name} completion installed" in done.stdout, done.stderr
    assert line.format(home=tmp_path) in (tmp_path / file).read_text("utf-8")
