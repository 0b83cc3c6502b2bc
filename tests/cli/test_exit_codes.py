"""One rule for all commands: 3 where a file is no good, 2 where what is asked for is."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tileops.introspect.inventory import shipped_folder

OPS = ("LayerNormFwdOp",)

FOLDER = {
    "inventory-check": ("inventory", *OPS, "--check", "--folder", "{}"),
    "inventory-update": ("inventory", *OPS, "--update", "--folder", "{}"),
    "audit": ("audit", *OPS, "--inventory", "{}"),
    "diff-base": ("diff", "{}", "good"),
    "diff-head": ("diff", "good", "{}"),
}
"""The commands that read a folder of inventory files."""

FILE = {
    "trace-summary": ("trace", "summary", "{}"),
    "trace-show": ("trace", "show", "{}"),
    "trace-replay": ("trace", "replay", "{}"),
    "lint-baseline": ("lint", "--baseline", "{}"),
}
"""The commands that read a file of JSON."""

NAMED = {**FOLDER, **FILE, "lint": ("lint", "{}")}
"""Every command that reads what it is given the name of."""

CONTENT = {
    "empty": b"",
    "binary": bytes(range(256)),
    "text": b"Dear Sir or Madam,\n",
    "null": b"null\n",
    "list": b"[]\n",
    "nested": b'{"kind":' * 90_000 + b"\n",
    "digits": b'{"kind": %s}\n' % (b"9" * 5000),
    "not-a-number": b'{"kind": NaN}\n',
    "other-schema": b'{"schema": "tileops.other/1.0"}\n',
    "utf-16": '{"kind": "header"}\n'.encode("utf-16"),
    "latin-1": '{"kind": "ä"}\n'.encode("latin-1"),
    "cut-off": b'{"schema": "tileops.inv',
    "surrogate": b'{"kind": "\\ud800"}\n',
}
"""What is neither an inventory, nor a recording, nor a baseline."""


@pytest.fixture
def here(cli, tmp_path, monkeypatch):
    """An empty project with a good inventory."""
    shutil.copytree(shipped_folder(), tmp_path / "good")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'here'\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(result, code):
    """Check that a command says in one sentence why it has no answer."""
    assert (result.code, result.out) == (code, ""), result.err
    assert result.err.startswith("error: ")
    assert result.err.count("error: ") == 1
    assert "Traceback" not in result.err
    assert max(map(len, result.err.splitlines())) < 400


def command(words, name):
    return [word.format(name) for word in words]


def files(folder):
    return {one: one.is_file() and one.read_bytes() for one in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("words", FOLDER.values(), ids=FOLDER)
@pytest.mark.parametrize("content", CONTENT.values(), ids=CONTENT)
def test_a_folder_with_a_bad_file(cli, here, words, content):
    """An inventory that cannot be read is none, and stays as it is."""
    (here / "bad").mkdir()
    (here / "bad" / "norm.json").write_bytes(content)
    before = files(here)

    refused(cli(*command(words, "bad")), 3)

    assert files(here) == before


@pytest.mark.parametrize("words", FILE.values(), ids=FILE)
@pytest.mark.parametrize("content", CONTENT.values(), ids=CONTENT)
def test_a_bad_file(cli, here, words, content):
    """A recording or a baseline that cannot be read is none, and stays as it is."""
    (here / "bad.json").write_bytes(content)
    before = files(here)

    refused(cli(*command(words, "bad.json")), 3)

    assert files(here) == before


@pytest.mark.parametrize("words", NAMED.values(), ids=NAMED)
@pytest.mark.parametrize("kind", ["missing", "pipe", "loop", "long", "in-a-file", "broken-link"])
def test_a_name_of_nothing_that_can_be_read(cli, here, words, kind):
    """Missing or of the wrong kind, whatever the command; nothing is waited for."""
    (here / "bad.py").write_text("")
    if kind == "pipe":
        os.mkfifo(here / "pipe")
    (here / "loop").symlink_to("loop")
    (here / "broken-link").symlink_to("nowhere")
    name = {"long": "x" * 256, "in-a-file": "bad.py/x"}.get(kind, kind)
    if words == FOLDER["inventory-update"] and kind == "missing":
        assert cli(*command(words, name)).code == 0
        return
    before = sorted(here.iterdir())

    refused(cli(*command(words, name)), 3)

    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize("words", NAMED.values(), ids=NAMED)
def test_an_empty_name(cli, here, words):
    """It is wrong usage, and not the folder at hand; for a baseline it means that there is none."""
    if "--baseline" in words:
        assert cli(*command(words, "")).code == 0
    else:
        refused(cli(*command(words, "")), 2)


@pytest.mark.parametrize("words", FOLDER.values(), ids=FOLDER)
@pytest.mark.parametrize("kind", ["folder", "pipe", "loop", "broken-link"])
def test_a_folder_with_something_that_is_no_file(cli, here, words, kind):
    """It is named, and nothing is waited for or replaced."""
    (here / "bad").mkdir()
    place = here / "bad" / "norm.json"
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("norm.json" if kind == "loop" else "nowhere")

    result = cli(*command(words, "bad"))

    refused(result, 3)
    assert "norm.json" in result.err


def changed(family, op, interface):
    """The good inventory's families with one thing that no inventory says."""
    record = json.loads((shipped_folder() / "norm.json").read_text("utf-8"))
    keys = record["ops"]["LayerNormFwdOp"]["interfaces"]["layer_norm"]["keys"]
    keys["layer_norm"].update(interface)
    record["ops"]["LayerNormFwdOp"].update(op)
    record.update(family)
    return json.dumps(record)


@pytest.mark.parametrize("words", FOLDER.values(), ids=FOLDER)
@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        pytest.param(
            changed({"schema": "tileops.inventory/2.0"}, {}, {}), "has the schema", id="version"
        ),
        pytest.param(changed({"schema": 1}, {}, {}), "Expected `str`, got `int`", id="no-schema"),
        pytest.param(changed({"schema": "tileops.inventory"}, {}, {}), "schema", id="bare-schema"),
        pytest.param(changed({"family": "../x"}, {}, {}), "a file is named after", id="family"),
        pytest.param(changed({"ops": []}, {}, {}), "Expected `object`, got `array`", id="ops"),
        pytest.param(changed({}, {"interfaces": None}, {}), "got `null`", id="interfaces"),
        pytest.param(changed({}, {}, {"serves": "(le n"}), "bracket is not closed", id="formula"),
        pytest.param(changed({}, {}, {"serves": "(frob n 1)"}), "frob", id="operator"),
        pytest.param(changed({}, {}, {"archs": ["x"]}), "Expected `int`", id="archs"),
        pytest.param(
            changed({}, {}, {"preferred_over": ["layer_norm"]}), "layer_norm", id="preference"
        ),
        pytest.param(
            changed({}, {}, {}).replace('"family":', '"family": "x", "family":', 1),
            "states 'family' twice",
            id="twice",
        ),
    ],
)
def test_a_folder_with_a_file_that_is_almost_an_inventory(cli, here, words, text, fragment):
    """The file is named with what is wrong in it."""
    (here / "bad").mkdir()
    (here / "bad" / "norm.json").write_text(text)

    result = cli(*command(words, "bad"))

    refused(result, 3)
    assert fragment in result.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(("trace", "run", "-o", "folder", "--", "true"), 3, id="record-into-a-folder"),
        pytest.param(("trace", "run", "-o", "file/t", "--", "true"), 3, id="record-in-a-file"),
        pytest.param(("trace", "run", "-o", "/dev/null", "--", "true"), 3, id="record-away"),
        pytest.param(("trace", "summary", "/dev/null"), 3, id="no-recording"),
        pytest.param(
            ("inventory", *OPS, "--update", "--folder", "new", "--format", "json"),
            2,
            id="a-form-of-no-listing",
        ),
        pytest.param(("trace", "run", "-o", "", "--", "true"), 2, id="record-into-nothing"),
        pytest.param(("trace", "run", "-o", "t", "--", "no-such-word"), 2, id="no-command"),
        pytest.param(("inventory", *OPS, "--update", "--folder", "file"), 3, id="lock-in-a-file"),
        pytest.param(("inventory", "NoOp", "--check", "--folder", "good"), 2, id="no-op"),
        pytest.param(("audit", *OPS, "--interface", "no"), 2, id="no-interface"),
        pytest.param(("audit", *OPS, "--import", "no_module"), 3, id="no-module"),
        pytest.param(("diff", "good"), 2, id="one-side"),
        pytest.param(("diff", "good", "good", "--format", "pdf"), 2, id="no-form"),
        pytest.param(("lint", "--select", "no-rule"), 2, id="no-rule"),
        pytest.param(("lint", "--update-baseline"), 2, id="no-baseline-to-write"),
        pytest.param(("lint", "good/norm.json"), 3, id="lint-no-python"),
        pytest.param(("rule", "no-rule"), 2, id="page-of-no-rule"),
    ],
)
def test_what_is_asked_and_what_is_written(cli, here, words, code):
    """A file that cannot be written is as one that cannot be read."""
    (here / "folder").mkdir()
    (here / "file").write_text("")
    before = files(here)

    refused(cli(*words), code)

    assert files(here) == before


def test_the_page_states_the_rule():
    """What the table of the page says of 2 and 3."""
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")

    assert "| 2 | wrong usage: an unknown op, interface, fact, option or value, or an empty" in page
    assert "| 3 | a file or folder that is named is missing, no good or cannot be written" in page
