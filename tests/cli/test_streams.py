"""What goes where: stdout, stderr, colours, widths, closed pipes, tracebacks."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

import tileops

BLEND = [
    *("explain", "BlendFwdOp", "--import", "acme_blend", "--interface", "blend"),
    *("--n", "8", "--causal", "--arch", "90"),
]
PACKAGES = Path(__file__).with_name("packages")
ANSI = "\x1b["


@pytest.mark.parametrize("form", ["text", "json", "md"])
def test_piped_output_is_plain(cli, form):
    """No escape codes, no boxes, no trailing spaces; stderr stays empty."""
    result = cli(*BLEND, "--format", form)

    assert result.code == 0
    assert result.err == ""
    assert result.out.isascii()
    assert ANSI not in result.out
    assert not re.search(r" $", result.out, re.M)


def test_piped_output_is_never_wrapped(cli, monkeypatch):
    """The width of the terminal has no say in what a pipe gets."""
    monkeypatch.setenv("COLUMNS", "40")

    lines = cli(*BLEND).out.splitlines()

    assert (
        "  o blend_narrow  outranked  by blend_tma: preferred_over; by blend_single: "
        in "".join(line for line in lines if "blend_narrow  outranked" in line)
    )
    assert max(map(len, lines)) > 80


def test_colours_can_be_forced_and_forbidden(cli, monkeypatch):
    """FORCE_COLOR colours a pipe; NO_COLOR wins over it; neither changes the words."""
    plain = cli(*BLEND).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    forced = cli(*BLEND).out
    monkeypatch.setenv("NO_COLOR", "1")
    forbidden = cli(*BLEND).out

    assert ANSI in forced
    assert re.sub(r" +$", "", re.sub(r"\x1b\[[0-9;]*m", "", forced), flags=re.M) == plain
    assert forbidden == plain


def test_colours_never_enter_json(cli, monkeypatch):
    """A document stays a document."""
    plain = cli(*BLEND, "--format", "json").out
    monkeypatch.setenv("FORCE_COLOR", "1")

    assert cli(*BLEND, "--format", "json").out == plain


def on_terminal(environment, words, **variables):
    """Run the command on a terminal of 80 columns; return what it shows."""
    primary, secondary = pty.openpty()
    fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    kept = {k: v for k, v in environment.items() if k not in ("COLUMNS", "LINES")}
    running = subprocess.Popen(
        [sys.executable, "-m", "tileops", *words],
        cwd=PACKAGES,
        env={**kept, "TERM": "xterm", **variables},
        stdin=subprocess.DEVNULL,
        stdout=secondary,
        stderr=secondary,
    )
    os.close(secondary)
    shown = b""
    while True:
        try:
            part = os.read(primary, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(primary)
    running.wait()
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_and_reasons_wrapped_in_their_column(environment):
    """On 80 columns a long reason goes on under its own beginning."""
    shown = on_terminal(environment, BLEND)

    words = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert ANSI in shown
    assert max(map(len, words.splitlines())) <= 80
    start = words.index("o blend_narrow")
    first, second = words[start - 2 :].splitlines()[:2]
    assert second.startswith(" " * first.index("by blend_tma"))
    assert "through" in second


def test_a_terminal_gets_values_wrapped_and_lines_of_code_below(environment):
    """On 80 columns a condition of many values keeps them in their column."""
    words = ["explain", "BatchNormBwdOp", "--n", "320", "--c", "30", "--spatial", "49"]
    shown = on_terminal(environment, [*words, "--gpu", "a100"], NO_COLOR="1")

    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    at = next(i for i, line in enumerate(lines) if "32 * n * spatial <= smem_budget" in line)
    column = lines[at].index("n is 320")
    assert lines[at + 1].startswith(" " * column)
    assert any(line.strip().startswith("tileops/kernels/norm/wide") for line in lines[at:])


def test_a_table_fits_the_terminal(environment):
    """The recording of the example, on 80 columns and on as many as it likes."""
    example = Path(__file__).parents[2] / "docs" / "examples" / "traced_block.h200.jsonl"
    words = ["trace", "show", str(example)]

    narrow = on_terminal(environment, words, NO_COLOR="1")
    wide = on_terminal(environment, words, NO_COLOR="1", COLUMNS="400")

    assert max(map(len, narrow.splitlines())) <= 80
    assert len(wide.splitlines()) == 1 + 1 + 17 + 1 + 3 + 1


def test_a_failure_on_a_terminal_keeps_its_help_line(environment):
    """A person is told as much as a pipe."""
    shown = on_terminal(environment, ["explain", "LayerNormFwd"])

    assert shown.startswith("error: no op 'LayerNormFwd'; did you mean LayerNormFwdOp")
    assert "\nhelp: " in shown


def test_output_is_identical_under_every_hash_seed(environment):
    """Neither order nor wording depends on the seed, in any of the three forms."""
    script = (
        "import contextlib, sys\n"
        "from tileops.cli import main\n"
        "for form in ('text', 'json', 'md'):\n"
        "    with contextlib.suppress(SystemExit):\n"
        "        main([*sys.argv[1:], '--format', form])\n"
    )

    first, second = (
        subprocess.run(
            [sys.executable, "-c", script, *BLEND],
            cwd=PACKAGES,
            env={**environment, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "271828")
    )

    assert first == second
    assert first.count(b"blend_single") > 10


@pytest.mark.parametrize("form", ["text", "json", "md"])
def test_output_holds_no_absolute_path(cli, form):
    """Files are named from the folder they are imported from."""
    out = cli(*BLEND, "--format", form).out

    assert "acme_blend.py:" in out
    assert str(Path(__file__).parent) not in out
    assert str(Path(tileops.__file__).parent) not in out
    assert not re.search(r"(?<![\w.])/\w+/", out)


@pytest.mark.parametrize("rest", ["--format text", "--format json", "--schema"])
def test_a_closed_pipe_is_no_error(shell, rest):
    """The reader may leave early; nothing is said, and the code is that of a broken pipe."""
    result = shell(f"tileops explain LayerNormFwdOp --n 8 {rest} | true; echo ${{PIPESTATUS[0]}}")

    assert result.out.split()[-1] == "141"
    assert result.err == ""


def test_a_traceback_appears_only_on_request(cli):
    """``--traceback`` adds it, and changes neither the sentence nor the exit code."""
    words = ("explain", "LayerNormFwdOp", "--n", "8", "--import", "acme_broken")

    plain = cli(*words)
    traced = cli(*words, "--traceback")

    assert "Traceback" not in plain.err
    assert "Traceback (most recent call last)" in traced.err
    assert "acme_broken.py" in traced.err
    assert traced.err.endswith(plain.err)
    assert plain.code == traced.code == 3


def test_the_words_of_another_program_are_its_own(cli):
    """Behind ``--``, an option of this program is an argument like any other."""
    result = cli("trace", "run", "--", "acme-no-such-program", "--traceback")

    assert result.code == 2
    assert "cannot run 'acme-no-such-program'" in result.err
    assert "Traceback" not in result.err


def test_what_has_no_room_beside_the_rest_stands_below_it(environment):
    """The line of a condition follows on a line of its own, a little further in."""
    question = ("explain", "BatchNormFwdOp", "--interface", "batch_norm_fwd_train", "--gpu", "h200")
    shown = on_terminal(
        environment, [*question, "--n", "64", "--c", "8", "--spatial", "4096"], NO_COLOR="1"
    )

    lines = shown.splitlines()
    place = next(n for n, one in enumerate(lines) if one.startswith("      x spatial <= 320 "))
    assert lines[place].endswith("is 4096")
    assert re.fullmatch(r" {10}tileops/kernels/norm/\S+\.py:\d+", lines[place + 1])
