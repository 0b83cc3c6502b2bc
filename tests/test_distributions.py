"""The wheel and the sdist: what they contain, and what the wheel can do without torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"
BACKEND = ROOT / "docs" / "examples" / "tileops_acme" / "src"
REMEDY = "pip install 'tileops[ops]'"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with both, built as a release would be."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built) -> Path:
    """The wheel's file."""
    (found,) = built.glob("*.whl")
    return found


def sources() -> set[str]:
    """Every file of the package, by its path in a wheel."""
    found = (path for path in (SOURCES / "tileops").rglob("*") if path.is_file())
    return {
        path.relative_to(SOURCES).as_posix() for path in found if "__pycache__" not in path.parts
    }


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel):
    """Code, YAML, indices and schemas; no tests and no pages."""
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    assert names == sources()


@pytest.mark.parametrize(
    "name",
    [
        "tileops/cli/op_index.json",
        "tileops/cli/schemas/explain.json",
        "tileops/inventory/norm.json",
        "tileops/lint/_index.json",
        "tileops/manifest/spec/norm.yaml",
        "tileops/py.typed",
    ],
)
def test_what_is_read_at_run_time_is_in_the_wheel(wheel, name):
    """Named one by one, so that none can leave the tree unseen."""
    assert name in zipfile.ZipFile(wheel).namelist()


def test_the_wheel_says_what_it_is(wheel):
    """The command, the plugin of pytest, the licence, and the extras."""
    archive = zipfile.ZipFile(wheel)
    (info,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
    metadata = archive.read(f"{info}/METADATA").decode()
    entry_points = archive.read(f"{info}/entry_points.txt").decode()

    assert "tileops = tileops.cli:main" in entry_points
    assert "[pytest11]" in entry_points
    assert f"{info}/licenses/LICENSE" in archive.namelist()
    assert "Requires-Dist: torch>=2.11; extra == 'ops'" in metadata
    assert "Description-Content-Type: text/markdown" in metadata
    base = [line for line in metadata.splitlines() if line.startswith("Requires-Dist")]
    assert not [line for line in base if "extra ==" not in line and "torch" in line]


def test_the_sdist_has_what_building_testing_and_documenting_take(built):
    """The trees whole, and the files they need beside them."""
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {f"src/{name}" for name in sources()} <= names
    assert {
        ".ci/run",
        "LICENSE",
        "README.md",
        "constraints.txt",
        "docs/conftest.py",
        "docs/examples/tileops_acme/pyproject.toml",
        "docs/images/explain.svg",
        "docs/lint/index.md",
        "hooks/interface_names_lint.py",
        "mkdocs.yml",
        "pyproject.toml",
        "tests/test_distributions.py",
    } <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith("site/")]


@pytest.fixture(scope="module")
def base(wheel, tmp_path_factory) -> dict[str, str]:
    """The environment of an interpreter that has the wheel and what it requires, and no more."""
    folder = tmp_path_factory.mktemp("base")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        (metadata,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    stated = [line.partition(": ")[2] for line in lines if line.startswith("Requires-Dist")]
    for name in required(stated):
        for file in distribution(name).files or ():
            top = folder / file.parts[0]
            if ".." not in file.parts and not top.exists():
                top.symlink_to(
                    Path(str(file.locate())).parents[len(file.parts) - 1] / file.parts[0]
                )
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PYTHONPATH": str(folder), "HOME": str(folder)}


def required(stated: list[str]) -> set[str]:
    """The names of distributions that requirements lead to, extras left out."""
    found: set[str] = set()
    waiting = [Requirement(text) for text in stated]
    while waiting:
        one = waiting.pop()
        if one.name in found or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        found.add(one.name)
        waiting += [Requirement(text) for text in distribution(one.name).requires or ()]
    return found


@pytest.fixture
def ask(base, tmp_path):
    """Run the program without the site's packages."""

    def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-S", "-m", "tileops", *words],
            cwd=tmp_path,
            env={**base, **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        pytest.param(["--version"], "torch not installed", id="version"),
        pytest.param(["--help"], "explain", id="help"),
        pytest.param(["explain", "LayerNormFwdOp", "--help"], "--eps FLOAT", id="op-help"),
        pytest.param(["explain", "--schema"], "tileops.explain/", id="schema"),
        pytest.param(["lint", str(BACKEND)], "no findings", id="lint"),
        pytest.param(["rule"], "interface-name", id="rules"),
        pytest.param(["rule", "interface-name"], "# interface-name", id="rule"),
        pytest.param(["doctor"], REMEDY, id="doctor"),
    ],
)
def test_what_needs_no_torch_answers_without_it(ask, words, fragment):
    """The base installation is enough for these."""
    done = ask(*words)

    assert (done.returncode, done.stderr) == (0, "")
    assert fragment in done.stdout


def test_a_comparison_of_inventories_needs_no_torch(ask, base):
    """The formulas in the files are enough."""
    folder = f"{base['PYTHONPATH']}/tileops/inventory"

    done = ask("diff", folder, folder, "--format", "json")

    assert done.returncode == 0
    assert json.loads(done.stdout)["interfaces"] == []


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "LayerNormFwdOp", "--n", "256"],
        ["audit"],
        ["map", "LayerNormFwdOp", "--vary", "n=1..8"],
        ["graph", "LayerNormFwdOp"],
        ["boundaries", "LayerNormFwdOp"],
        ["inventory"],
        ["inventory", "--check"],
        ["trace", "run", "--", "true"],
        ["trace", "summary", "recording.jsonl"],
        ["trace", "show", "recording.jsonl"],
        ["trace", "replay", "recording.jsonl"],
    ],
    ids=" ".join,
)
def test_what_needs_torch_names_the_extra(ask, words):
    """Exit 3, with the command that adds it on stderr."""
    done = ask(*words)

    assert (done.returncode, done.stdout) == (3, "")
    assert REMEDY in done.stderr
    assert "Traceback" not in done.stderr


def test_doctor_says_the_same_as_json(ask):
    """The form is the one with torch, the lists of what could not be asked empty."""
    done = ask("doctor", "--format", "json")

    report = json.loads(done.stdout)
    assert report["packages"]["torch"] is None
    assert report["healthy"] is True
    assert [report[name] for name in ("devices", "loaded", "backends", "targets")] == [[]] * 4
