"""``tileops trace``: recording a command, and every answer about a recording."""

from __future__ import annotations

import json
import os
import signal
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

import tileops
from tileops.introspect.trace import read_recording

ACME = Path(__file__).parents[2] / "docs" / "examples" / "tileops_acme" / "src"

SLOW = """
import torch, tileops_acme
from tileops import LayerNormFwdOp

for width, times in ((128, 6), (512, 3)):
    for _ in range(times):
        try:
            LayerNormFwdOp(width)(torch.ones(2, width))
        except ValueError:
            pass
LayerNormFwdOp(4096, target="acme")(torch.ones(2, 4096))
LayerNormFwdOp(8)(torch.ones(0, 8))
"""


@pytest.fixture(scope="module")
def traced(shell, tmp_path_factory):
    """The folder of a script that was recorded with ``tileops trace run``."""
    folder = tmp_path_factory.mktemp("traced")
    (folder / "slow.py").write_text(SLOW)
    result = shell("tileops trace run -o t.jsonl -- python slow.py", folder, **variables(folder))
    assert (result.code, result.out) == (0, "")
    assert result.err == (
        "note: recording into t.PID.jsonl; tileops trace summary t.jsonl reads it\n"
    )
    return folder


def variables(folder):
    paths = [Path(tileops.__file__).parents[1], ACME, folder]
    return {"PYTHONPATH": os.pathsep.join(map(str, paths)), "OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize(
    ("command", "code"),
    [
        pytest.param("true", 0, id="good"),
        pytest.param("python -c 'raise SystemExit(7)'", 7, id="exit-code"),
        pytest.param("python -c 'import os; os.kill(os.getpid(), 15)'", 143, id="signal"),
        pytest.param("python -c 'import sys; print(sys.argv)' --traceback -o x -h", 0, id="args"),
    ],
)
def test_run_becomes_the_command(shell, tmp_path, command, code):
    """Exit code, signals and arguments are the command's own."""
    result = shell(f"tileops trace run -- {command}; exit $?", tmp_path)
    assert result.code == code
    if "argv" in command:
        assert result.out.split("\n")[0] == "['-c', '--traceback', '-o', 'x', '-h']"


def test_run_passes_signals_on(shell, tmp_path):
    """An interrupt reaches the command itself, which may handle it."""
    code = (
        "import signal,sys,os\n"
        "signal.signal(signal.SIGINT, lambda *_: sys.exit(9))\n"
        "os.kill(os.getppid(), 0)\n"
        "print('ready', flush=True)\n"
        "signal.pause()\n"
    )
    (tmp_path / "wait.py").write_text(code)
    line = (
        "tileops trace run -- python wait.py > out & child=$!\n"
        "for _ in $(seq 600); do grep -q ready out 2>/dev/null && break; sleep 0.05; done\n"
        f"kill -{int(signal.SIGINT)} $child; wait $child; echo $?"
    )
    # A shell without job control starts background commands with interrupts ignored.
    assert shell(f"set -m\n{line}", tmp_path).out.splitlines()[-1] == "9"


def test_run_of_no_command(shell, tmp_path):
    """A command that does not exist is wrong usage, and nothing is recorded."""
    result = shell("tileops trace run -- no-such-command-here", tmp_path)
    assert result.code == 2
    assert "error: cannot run 'no-such-command-here'" in result.err
    assert "cause: No such file" in result.err


def test_run_replaces_an_earlier_recording(shell, traced, tmp_path):
    """Files of the same name are removed first if they are recordings, and only then."""
    for _ in range(2):
        line = "tileops trace run -o t.jsonl -- python slow.py"
        (tmp_path / "slow.py").write_text(SLOW)
        assert shell(line, tmp_path, **variables(tmp_path)).code == 0
    assert len(read_recording(tmp_path / "t.jsonl").headers) == 1
    (tmp_path / "t.1.jsonl").write_text("something else\n")
    result = shell("tileops trace run -o t.jsonl -- true", tmp_path)
    assert result.code == 3
    assert "t.1.jsonl is in the way and no recording" in result.err
    assert (tmp_path / "t.1.jsonl").read_text() == "something else\n"


def test_summary_text(cli, traced):
    """Per op: what served the calls, the keys of higher rank that refused and why, and errors."""
    result = cli("trace", "summary", str(traced / "t.jsonl"))
    assert result.code == 0
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert lines[0].startswith("LayerNormFwdOp: 11 calls, ")
    assert "layer_norm acme_layer_norm_short_rows 6 54.5% 1" in lines
    assert "layer_norm nothing (unserved) 3 27.3% 1" in lines
    assert "target acme 1 9.1% 1" in lines
    assert "no kernel (empty) 1 9.1% 1" in lines
    row = lines.index("layer_norm acme_layer_norm_short_rows 3 nothing (unserved)")
    assert lines[row - 1] == "interface key calls served by"
    assert lines[row + 1 : row + 4] == [
        "first call at slow.py:8",
        "reason refused: serves rows of at most 256 elements, got 512",
        "explain tileops explain LayerNormFwdOp --interface layer_norm \\",
    ]


def test_a_command_that_goes_on_below_can_be_copied(shell, traced):
    """A shell reads the lines as one command, and it explains."""
    text = shell("tileops trace summary t.jsonl", traced, **variables(traced)).out
    assert max(map(len, text.splitlines())) <= 80
    start = text.index("tileops explain")
    command = text[start : text.index("\n\n", start)]
    assert command.count(" \\\n") >= 1

    result = shell(command, traced, **variables(traced))

    assert result.code == 1
    assert "serves rows of at most 256 elements, got 512" in result.out


@pytest.mark.parametrize("command", ["summary", "show", "replay"])
def test_text_keeps_to_a_page(shell, traced, command):
    """Whatever COLUMNS says, a pipe gets the same 80 columns."""
    line = f"tileops trace {command} t.jsonl"
    narrow = shell(line, traced, **variables(traced), COLUMNS="40").out
    wide = shell(line, traced, **variables(traced), COLUMNS="400").out

    assert narrow == wide
    assert max(map(len, narrow.splitlines())) <= 80


def test_the_command_in_a_summary_explains(shell, cli, traced):
    """The printed command runs as it is and shows the refusal."""
    answer = json.loads(cli("trace", "summary", str(traced / "t.jsonl"), "--format", "json").out)
    (refusal,) = answer["ops"][0]["refusals"]
    result = shell(refusal["command"], traced, **variables(traced))
    assert result.code == 1
    assert refusal["reason"] in result.out


@pytest.mark.parametrize("command", ["summary", "show", "replay"])
def test_json_follows_its_schema(shell, cli, traced, command):
    """Every answer is valid against the schema that the command prints."""
    schema = json.loads(cli("trace", command, "--schema").out)
    line = f"tileops trace {command} t.jsonl --format json"
    answer = json.loads(shell(line, traced, **variables(traced)).out)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(answer, schema)
    assert answer["schema"] == schema["$id"]
    assert set(schema["required"]) == set(answer)


def test_schemas_ship(cli):
    """Each command prints the file that the package ships."""
    for command, name in (("summary", "summary"), ("show", "records"), ("replay", "replay")):
        shipped = (files("tileops.cli") / "schemas" / f"trace-{name}.json").read_text()
        assert cli("trace", command, "--schema").out == shipped


def test_show(cli, traced):
    """Every record has a line with its count and decision; its facts and place stand below."""
    result = cli("trace", "show", str(traced / "t.jsonl"))
    assert result.code == 0
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    row = lines.index("facts n 128, eps 1e-05, dtype float32")
    head = " 6 LayerNormFwdOp.layer_norm acme_layer_norm_short_rows"
    assert head in lines[row - 1]
    below = lines.index("first call at slow.py:8")
    assert row < below < row + 4
    assert any(" 1 LayerNormFwdOp target acme" in line for line in lines)


def test_markdown(cli, traced):
    """Tables have as many cells in every row as in their head."""
    out = cli("trace", "summary", str(traced / "t.jsonl"), "--format", "md").out
    tables = [block for block in out.split("\n\n") if block.startswith("|")]
    assert len(tables) == 4
    for table in tables:
        assert len({line.count("|") for line in table.strip().splitlines()}) == 1


class Page(HTMLParser):
    """The elements of a page, and what they refer to."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.references, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.references += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.text.append(data)


def test_html_is_one_file(cli, traced):
    """The page refers to nothing, and shows what people typed as text."""
    record = traced / "hostile.jsonl"
    source = next(traced.glob("t.*.jsonl")).read_text()
    record.write_text(source.replace("slow.py:8", "<script>alert(1)</script>.py:8"))
    page = Page(cli("trace", "summary", str(record), "--format", "html").out)
    assert page.references == []
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert page.tags.count("table") == 4
    assert "<script>alert(1)</script>.py:8" in page.text
    record.unlink()


def test_replay_of_the_same_code(shell, traced):
    """Nothing changes: exit 0."""
    result = shell("tileops trace replay t.jsonl", traced, **variables(traced))
    assert result.code == 0
    assert result.out.startswith("2 records decided again, 0 changed; 2 without the facts")


CHANGED = """
import tileops_acme._kernels as kernels
kernels.LONGEST_ROW = 64
"""


def test_replay_finds_a_selection_change(shell, traced):
    """With a narrower kernel the calls that lose it are listed: exit 1."""
    (traced / "changed_code.py").write_text(CHANGED)
    line = "tileops trace replay t.jsonl --import changed_code"
    result = shell(line, traced, **variables(traced))
    assert result.code == 1
    assert result.out.startswith("2 records decided again, 1 changed")
    row = " ".join(result.out.partition("now\n")[2].split())
    assert row.startswith(
        "6 LayerNormFwdOp.layer_norm acme_layer_norm_short_rows unserved explain tileops explain"
    )
    answer = json.loads(shell(f"{line} --format json", traced, **variables(traced)).out)
    (change,) = answer["changes"]
    assert (change["before"], change["now"], change["calls"]) == (
        "acme_layer_norm_short_rows",
        "unserved",
        6,
    )


SCRIPT = """
import torch
from tileops.backend import Kernel
from tileops.kernels.norm.call_spec import LayerNormFwdInterface
from tileops.ops.norm.layer_norm import LayerNormFwdOp

class Mine(Kernel, LayerNormFwdInterface):
    devices = frozenset({"cpu"})
    def forward(self, x, weight, bias): return x * 1

class MineFwdOp(LayerNormFwdOp):
    kernel_types = {"mine": Mine}

if __name__ == "__main__":
    MineFwdOp(8)(torch.ones(2, 8))
    print("called")
"""


def test_replay_of_ops_that_a_script_defines(shell, tmp_path):
    """A script is not run again: the op must be had from a module, which --import names."""
    (tmp_path / "mine.py").write_text(SCRIPT)
    given = variables(tmp_path)
    assert shell("tileops trace run -o t.jsonl -- python mine.py", tmp_path, **given).code == 0
    result = shell("tileops trace replay t.jsonl", tmp_path, **given)
    assert result.code == 3
    assert "MineFwdOp: defined in the script that was recorded, which is not run" in result.err
    assert "help: --import MODULE" in result.err
    result = shell("tileops trace replay t.jsonl --import mine", tmp_path, **given)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("1 record decided again, 0 changed")


def test_a_file_that_was_cut_off(cli, traced):
    """It is read, with a warning."""
    whole = next(traced.glob("t.*.jsonl")).read_bytes()
    (traced / "cut.jsonl").write_bytes(whole[:-10])
    result = cli("trace", "show", str(traced / "cut.jsonl"))
    assert result.code == 0
    assert result.err == "warning: cut.jsonl was cut off; its last line is left out\n"
    assert result.out.startswith("3 records\n")


def test_an_import_that_fails(cli, traced):
    """A module of the recording that is not there is exit 3, with its name."""
    record = traced / "moved.jsonl"
    source = next(traced.glob("t.*.jsonl")).read_text()
    record.write_text(source.replace('"imports":["tileops_acme"]', '"imports":["tileops_gone"]'))
    result = cli("trace", "replay", str(record))
    assert result.code == 3
    assert "cannot be decided again: the program that was recorded had tileops_gone" in result.err
    assert "cause: ModuleNotFoundError: No module named 'tileops_gone'" in result.err
    assert "help: install the package it is from" in result.err
    record.unlink()
