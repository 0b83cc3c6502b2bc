"""What ``tileops trace`` is asked and given: names, recordings that were edited, and its help."""

from __future__ import annotations

from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "traced_block.h200.jsonl"


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        pytest.param(("summary",), "trace summary needs a FILE", id="no-name"),
        pytest.param(("show",), "trace show needs a FILE", id="no-name-to-show"),
        pytest.param(("replay",), "trace replay needs a FILE", id="no-name-to-replay"),
        pytest.param(("summary", "f", "--format", "pdf"), "'pdf' is not one of", id="format"),
        pytest.param(("sumary",), "sumary", id="command"),
        pytest.param(
            ("run",),
            "trace run needs a COMMAND to run\nhelp: tileops trace run -- python",
            id="run",
        ),
        pytest.param(
            ("summary",),
            "help: tileops trace summary tileops-trace.jsonl",
            id="default-name",
        ),
    ],
)
def test_usage(cli, words, fragment):
    """What cannot be asked is wrong usage, said on stderr."""
    result = cli("trace", *words)
    assert result.code == 2
    assert result.out == ""
    assert fragment.lower() in result.err.lower()


@pytest.fixture
def example(tmp_path, monkeypatch):
    """A copy of the recording of another machine, and a folder, in the folder at hand."""
    (tmp_path / "block.jsonl").write_text(EXAMPLE.read_text())
    (tmp_path / "d" / "empty").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "block.jsonl"


def test_replay_of_a_call_that_no_op_makes(cli, example):
    """It is a change with the reason, whatever would be selected for it: exit 1."""
    example.write_text(example.read_text().replace('"n":1024,"eps"', '"n":0,"eps"', 1))
    result = cli("trace", "replay", "block.jsonl")
    assert result.code == 1
    assert result.out.startswith("17 records decided again, 1 changed\n")
    row = " ".join(" ".join(result.out.splitlines()[2:4]).split())
    assert row == (
        "4 LayerNormFwdOp.layer_norm layer_norm undecided explain "
        "no op makes this call: n must be at least 1, got 0"
    )


@pytest.mark.parametrize(
    ("given", "suggested"),
    [
        pytest.param("d/empty", "d/empty/tileops-trace.jsonl", id="folder"),
        pytest.param(".", "tileops-trace.jsonl", id="folder-at-hand"),
        pytest.param("d/gone.jsonl", "d/gone.jsonl", id="file"),
        pytest.param("d/broken.jsonl", "d/broken-2.jsonl", id="broken"),
        pytest.param("d/parts.jsonl", "d/parts-3.jsonl", id="broken-part"),
    ],
)
def test_the_name_that_is_suggested_can_be_recorded_into(shell, cli, example, given, suggested):
    """What the help says works: for a folder it names a file in it, and none that is refused."""
    (example.parent / "d" / "broken.jsonl").write_text("no recording\n")
    (example.parent / "d" / "parts.7.jsonl").write_text("no recording\n")
    (example.parent / "d" / "parts-2.jsonl").write_text("")
    result = cli("trace", "summary", given)
    assert result.code == 3
    assert f"help: tileops trace run -o {suggested} -- COMMAND makes one" in result.err
    assert shell(f"tileops trace run -o {suggested} -- true", example.parent).code == 0


@pytest.mark.parametrize("command", ["summary", "show", "replay"])
def test_an_empty_name(cli, command):
    """It is said to be empty, and not taken for the folder at hand."""
    result = cli("trace", command, "")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: FILE is empty; it names")


@pytest.mark.parametrize("form", ["text", "md", "html"])
def test_control_characters_in_recorded_names(cli, example, form):
    """They are escaped, so that they neither reach a terminal nor break a table."""
    text = example.read_text()
    whole = cli("trace", "summary", "block.jsonl", "--format", form).out
    example.write_text(text.replace('"LayerNormFwdOp"', r'"Layer\u001b[31m\nNormFwdOp"'))
    for command in ("summary", "show"):
        out = cli("trace", command, "block.jsonl", "--format", form).out
        assert "\x1b" not in out
        assert r"Layer\x1b[31m" in out
        if command == "summary":
            assert len(out.splitlines()) == len(whole.splitlines())
    failed = cli("trace", "replay", "block.jsonl")
    assert "\x1b" not in failed.out + failed.err


def test_help_has_the_summaries_whole(cli):
    """However long, none ends in dots."""
    text = " ".join(cli("trace", "--help").out.split())
    assert "run Run COMMAND and record every selection: tileops trace run -- python" in text
    assert "exit 1 when one would change." in text
    assert "..." not in text.partition("Commands:")[2]
