"""Where a call is asked about: architectures, boards, devices, stated facts."""

from __future__ import annotations

import json

import pytest

NORM = ("explain", "LayerNormFwdOp", "--n", "256")


@pytest.mark.parametrize("arch", ["90", "sm_90", "SM90", "sm_90a", "9.0"])
def test_an_architecture_has_several_spellings(cli, arch):
    """All of them mean the same, and give the same answer."""
    assert cli(*NORM, "--arch", arch) == cli(*NORM, "--arch", "90")


@pytest.mark.parametrize("arch", ["hopper", "-9", "", "9x"])
def test_what_spells_no_architecture_is_rejected(cli, arch):
    """The failure shows how one is spelled."""
    result = cli(*NORM, "--arch", arch)

    assert result.code == 2
    assert "--arch takes an architecture such as 90 or sm_90" in result.err


@pytest.mark.parametrize(
    ("words", "code", "fragment"),
    [
        pytest.param(["--arch", "90"], 0, "selected layer_norm", id="arch"),
        pytest.param(["--arch", "87"], 1, "supports arch 80, 86, 89, 90, got 87", id="arch-close"),
        pytest.param(["--gpu", "H200"], 0, "on h200", id="gpu-ignores-case"),
        pytest.param(["--gpu", "b200"], 1, "unserved", id="gpu-unserved"),
        pytest.param(["--device", "cpu"], 1, "not available", id="cpu"),
        pytest.param(["--device", "cpu"], 1, "runs on cuda, got cpu", id="cpu-reason"),
        pytest.param(
            ["--device", "cuda:0", "--arch", "89"], 0, "on cuda:0, arch 89 (facts", id="device-arch"
        ),
        pytest.param(
            ["--arch", "90", "--sm-count", "78"], 0, "on arch 90, sm-count 78", id="arch-and-fact"
        ),
        pytest.param(["--smem-budget", "1"], 1, "unserved", id="fact-without-arch"),
    ],
)
def test_a_stated_place_is_strict(cli, words, code, fragment):
    """A named device decides the exit code by itself, without asking the machine."""
    result = cli(*NORM, *words)

    assert result.code == code
    assert fragment in result.out


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--gpu", "h200", "--arch", "90"], id="gpu-arch"),
        pytest.param(["--gpu", "h200", "--device", "cuda"], id="gpu-device"),
        pytest.param(["--gpu", "h200", "--sm-count", "1"], id="gpu-fact"),
    ],
)
def test_a_board_together_with_other_device_options_is_a_contradiction(cli, words):
    """A board states every device fact, so nothing can be added."""
    result = cli(*NORM, *words)

    assert result.code == 2
    assert "--gpu states every device fact" in result.err


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        pytest.param(["--sm-count", "0"], "--sm-count must be 1 or more, got 0", id="no-sm"),
        pytest.param(["--sm-count", "many"], "'--sm-count': 'many'", id="sm-word"),
        pytest.param(["--smem-budget", "0"], "--smem-budget must be 1 or more, got 0", id="smem"),
    ],
)
def test_device_facts_have_ranges(cli, words, fragment):
    """No device has fewer multiprocessors than one, or less shared memory than none."""
    result = cli(*NORM, "--arch", "90", *words)

    assert result.code == 2
    assert fragment in result.err


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        pytest.param(
            ["--gpu", "90"],
            ["error: no board '90'", "help: --arch 90 states an architecture"],
            id="architecture-as-board",
        ),
        pytest.param(
            ["--arch", "H200"],
            [
                "error: --arch takes an architecture such as 90 or sm_90; got 'H200'",
                "help: --gpu h200 names a board",
            ],
            id="board-as-architecture",
        ),
        pytest.param(
            ["--device", "l40s"],
            ["error: no device 'l40s'", "help: --gpu l40s asks about a board that is elsewhere"],
            id="board-as-device",
        ),
        pytest.param(
            ["--device", "gpu:0"], ["error: no device 'gpu:0'; did you mean cuda?"], id="gpu"
        ),
    ],
)
def test_a_place_in_the_wrong_option_is_told_its_own(cli, words, lines):
    """Boards, architectures and devices are taken for one another."""
    result = cli(*NORM, *words)

    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[: len(lines)] == lines


@pytest.mark.usefixtures("no_gpu")
def test_a_cuda_device_that_is_not_here_is_rejected_with_the_remedy(cli):
    """A device with an index is one of this machine; facts can be stated instead."""
    result = cli(*NORM, "--device", "cuda:0")

    assert result.code == 2
    assert "this machine has no device cuda:0" in result.err
    assert "--gpu h200 or --arch 90" in result.err


@pytest.mark.usefixtures("no_gpu")
def test_cuda_without_an_index_means_the_current_device(cli):
    """Without one, the answer is that of a call made here: not available."""
    result = cli(*NORM, "--device", "cuda")

    assert result.code == 1
    assert "runs on cuda, got no accelerator" in result.out
    assert "no accelerator; --gpu h200 or --arch 90 asks about another" in result.out


def test_every_known_board_is_asked_about_where_no_gpu_is(shell):
    """The README's question, in a process that sees no GPU: answered, boards grouped."""
    result = shell("tileops explain LayerNormFwdOp --n 256 --format json")

    answer = json.loads(result.out)
    assert result.code == 0
    assert answer["every_board"] is True
    places = [place for group in answer["interfaces"][0]["groups"] for place in group["places"]]
    assert len(places) == len(set(places)) == 10
    assert {"a100", "a40", "rtx3090", "l4", "l40s", "rtx4090", "h100", "h200", "b200"} < {*places}
