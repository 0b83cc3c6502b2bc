"""The generated pages are what the code says of itself today, and are complete."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cli_reference
import error_catalogue
import explain_picture
import op_pages
import supported_kernels
import tileops
import tileops.errors
import tileops.lint.errors
from generated import DOCS, stale
from tileops.cli._app import COMMANDS

GENERATORS = DOCS / "generators"


def page(name: str) -> str:
    """The text of a page as it is committed."""
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("generator", "folder"),
    [
        pytest.param(cli_reference, None, id="cli_reference"),
        pytest.param(error_catalogue, None, id="error_catalogue"),
        pytest.param(op_pages, op_pages.FOLDER, id="op_pages"),
        pytest.param(explain_picture, None, id="explain_picture"),
        pytest.param(supported_kernels, None, id="supported_kernels"),
    ],
)
def test_pages_are_current(generator, folder):
    """A failure names the command that writes the stale pages anew."""
    command = f"python docs/generators/{generator.__name__}.py"

    assert stale(generator.pages(), folder) == [], f"these pages are stale; run: {command}"


def test_a_changed_page_and_one_left_over_are_stale():
    """Both differ from what should be there, and a page as committed does not."""
    pages = op_pages.pages()
    changed = {**pages, "ops/LayerNormFwdOp.md": "something else"}
    del changed["ops/RMSNormFwdOp.md"]

    assert stale(changed, "ops") == ["ops/LayerNormFwdOp.md", "ops/RMSNormFwdOp.md"]


def test_every_command_has_a_section():
    """A section per command of the root's help, and the exit codes."""
    headings = re.findall(r"^#+ tileops (\w+)$", page("cli.md"), flags=re.M)

    assert headings == list(COMMANDS)


def test_the_reference_of_commands_loads_no_torch():
    """The generator reads the commands, and a command's module is light."""
    script = (
        "import json, sys, cli_reference; cli_reference.pages();"
        "print(json.dumps(sorted(sys.modules)))"
    )
    path = os.pathsep.join([str(GENERATORS), str(Path(tileops.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )

    assert {"torch", "tilelang", "z3", "libcst"}.isdisjoint(json.loads(done.stdout))


NAMES = sorted({*tileops.errors.__all__, *tileops.lint.errors.__all__})


@pytest.mark.parametrize("name", NAMES)
def test_every_exception_is_in_the_catalogue(name):
    """By a heading of its own, or among the families."""
    assert re.search(rf"^(### |\| `){name}\b", page("errors.md"), flags=re.M)


@pytest.mark.parametrize("name", NAMES)
def test_every_exception_that_is_raised_has_a_cause_and_a_remedy(name):
    """A class without them is a family, and something derives from it."""
    error = getattr(tileops.errors, name, None) or getattr(tileops.lint.errors, name)
    said = error_catalogue.describe(error)

    assert said.when.endswith(".")
    if not error.__subclasses__():
        assert said.cause.endswith(".")
        assert said.remedy.endswith(".")
    assert bool(said.cause) == bool(said.remedy)


def test_an_op_page_has_what_the_manifest_says():
    """Stated here by hand for one op."""
    text = page("ops/LayerNormFwdOp.md")

    assert "op = LayerNormFwdOp(normalized_shape, eps=1e-05)" in text
    assert "output = op(input, weight=None, bias=None)" in text
    assert "| `input` | `T` | `[*B, *normalized_shape]` | always |" in text
    assert "`T` is `float16`, `bfloat16` or `float32`" in text
    assert "## Interface `layer_norm`" in text
    assert "(../benchmarks.md#layernormfwdop)" in text


def test_the_picture_shows_the_answer():
    """The reason for the refusal and the call that would be served stand in it."""
    text = re.sub(r"<[^>]*>|&#160;", " ", page("images/explain.svg"))

    assert "serves rows of a multiple of 8, got 1001" in text
    assert "--n 1000 (is 1001)" in text
    assert "http" not in re.sub(r"https?://www\.(w3|textualize)\S*", "", text)
