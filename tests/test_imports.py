"""What start-up loads, and how the package's modules may import each other."""

import json
import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

HEAVY = ("libcst", "tilelang", "torch", "z3")

REPORT = f"""
import sys
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""

RUN_COMMAND = """
import runpy, sys
sys.argv = {argv!r}
try:
    runpy.run_module("tileops", run_name="__main__")
except SystemExit as done:
    assert not done.code, done.code
"""

ROOT = Path(__file__).parents[1]


def loaded(code, **environment):
    """Run *code* in a fresh interpreter and return which heavy packages it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", code + REPORT],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stderr.splitlines()[-1].replace("'", '"')), done.stdout


@pytest.mark.parametrize(
    "module",
    [
        "tileops",
        "tileops.cli",
        "tileops.errors",
        "tileops.findings",
        "tileops.lint",
        "tileops.manifest",
        "tileops.selection",
        "tileops.device",
    ],
)
def test_light_modules(module):
    """These modules load none of the heavy packages."""
    if find_spec(module) is None:
        pytest.skip(f"there is no {module}")
    assert loaded(f"import {module}")[0] == []


@pytest.mark.parametrize("module", ["tileops.ops.norm.layer_norm", "tileops.backend"])
def test_ops_load_torch_alone(module):
    """Ops and backends need torch; TileLang waits until a kernel is built."""
    assert loaded(f"import {module}")[0] == ["torch"]


@pytest.mark.parametrize(
    "argv", [["tileops", "--help"], ["tileops", "--version"], ["tileops", "-h"]]
)
def test_light_commands(argv):
    """Help and version answer without any of them."""
    heavy, out = loaded(RUN_COMMAND.format(argv=argv))
    assert heavy == []
    assert "tileops" in out


def test_completion_is_light():
    """Shell completion lists the commands without any of them."""
    heavy, out = loaded(
        RUN_COMMAND.format(argv=["tileops"]),
        _TILEOPS_COMPLETE="complete_zsh",
        _TYPER_COMPLETE_ARGS="tileops e",
    )
    assert heavy == []
    assert "explain" in out


def contracts():
    """Return the import contracts of pyproject.toml by name."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return {contract["name"]: contract for contract in settings["contracts"]}


def test_every_family_is_kept_apart():
    """The contract that keeps op families apart names each family there is."""
    families = contracts()["Op families do not know each other"]["layers"][0]
    named = {name.strip(" ()") for name in families.split("|")}
    ops = ROOT / "src" / "tileops" / "ops"
    there = {path.parent.name for path in ops.glob("*/__init__.py")}
    assert {name for name in there if not name.startswith("_")} <= named


@pytest.mark.skipif(find_spec("importlinter") is None, reason="import-linter is not installed")
def test_import_contracts_hold():
    """lint-imports is green."""
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("absent", "name"),
    [
        pytest.param("torch", "LayerNormFwdOp", id="an-op-without-torch"),
        pytest.param("torch", "trace", id="a-module-without-torch"),
    ],
)
def test_what_the_extra_holds_is_asked_for(absent, name):
    """A base installation says which command installs what a name needs."""
    code = (
        f"import sys; sys.modules[{absent!r}] = None\n"
        "import tileops\nfrom tileops.errors import MissingExtraError\n"
        f"try: tileops.{name}\n"
        "except MissingExtraError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    wanted = f"tileops.{name} needs {absent}; run: pip install 'tileops[ops]'\n"
    assert done.stdout == wanted
