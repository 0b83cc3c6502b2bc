"""``tileops lint`` and ``tileops rule`` from outside: output, exit codes, cache, imports."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tileops.lint

SOURCES = Path(tileops.lint.__file__).parents[2]
GOOD = '''\
from abc import abstractmethod

from tileops.backend import CallSpec, KernelInterface


class AFwdInterface(KernelInterface):
    """Count to *n*."""

    request = CallSpec

    @abstractmethod
    def forward(self, n: int) -> None:
        """Count."""
'''
BAD = GOOD.replace("AFwdInterface", "AFwdWideInterface")


@pytest.fixture
def project(tmp_path):
    """A git repository with one tracked bad file and one that is not tracked."""
    (tmp_path / "tracked.py").write_text(BAD)
    (tmp_path / "other.py").write_text(BAD)
    (tmp_path / "pyproject.toml").write_text("[tool.tileops.lint]\n")
    for command in (["init", "-q"], ["add", "tracked.py"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def python(cwd, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def command(cwd, *arguments):
    return python(cwd, "-m", "tileops", *arguments)


def test_only_tracked_files_are_linted(project):
    """A class in an untracked file neither helps nor hurts."""
    run = command(project, "lint", "--format", "json")
    assert run.returncode == 1
    assert {f["path"] for f in json.loads(run.stdout)["findings"]} == {"tracked.py"}


def test_warm_run_gives_the_same_bytes(project):
    """Cold, warm, without cache and with more processes: one answer."""
    cold = command(project, "lint")
    assert (project / ".tileops_cache" / "lint" / "facts").exists()
    assert command(project, "lint").stdout == cold.stdout
    assert command(project, "lint", "--no-cache").stdout == cold.stdout
    assert command(project, "lint", "-j", "2", "--no-cache").stdout == cold.stdout


@pytest.mark.parametrize(
    "junk", [b"", b"\x00junk", b"\x93\xa1x\x80\x80"], ids=["none", "junk", "key"]
)
def test_corrupt_cache_is_rebuilt(project, junk):
    """A cache that cannot be read, or is of another tool, counts as absent."""
    cold = command(project, "lint")
    for name in ("facts", "states"):
        (project / ".tileops_cache" / "lint" / name).write_bytes(junk)
    assert command(project, "lint").stdout == cold.stdout


def test_an_edit_is_seen(project):
    """A changed file is linted anew."""
    assert command(project, "lint").returncode == 1
    (project / "tracked.py").write_text(GOOD)
    assert command(project, "lint").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("missing.py",), "no such file or folder", id="path"),
        pytest.param(("--select", "interface-nam"), "did you mean interface-name", id="rule"),
    ],
)
def test_wrong_usage_exits_with_2(project, arguments, words):
    """What cannot be asked is said on stderr, with the nearest names."""
    run = command(project, "lint", *arguments)
    assert run.returncode == 2
    assert words in run.stderr
    assert run.stdout == ""


def test_configuration_is_checked(project):
    """An unknown key of the table is wrong usage."""
    (project / "pyproject.toml").write_text("[tool.tileops.lint]\nselekt = []\n")
    run = command(project, "lint")
    assert run.returncode == 2
    assert "unknown key 'selekt'" in run.stderr


def test_per_file_ignores(project):
    """Rules can be switched off for files that match a glob."""
    (project / "pyproject.toml").write_text(
        '[tool.tileops.lint.per-file-ignores]\n"track*" = ["interface-name"]\n'
    )
    assert command(project, "lint").returncode == 0


def test_rule_prints_a_page():
    """With an id, the rule's page; without, one line per rule."""
    assert command(".", "rule", "interface-name").stdout.startswith("# interface-name\n")
    assert "interface-name" in command(".", "rule").stdout
    assert command(".", "rule", "interface-nam").returncode == 2


def test_linting_loads_no_torch_and_libcst_only_to_parse(tmp_path):
    """``import tileops.lint`` is light, and so is a run over files without contract classes."""
    (tmp_path / "plain.py").write_text("class A(Exception):\n    x = 1\n")
    code = (
        "import sys, pathlib\n"
        "import tileops.lint\n"
        "tileops.lint.lint(tileops.lint.Request(cache=False), pathlib.Path('.'))\n"
        "heavy = {'torch', 'tilelang', 'libcst', 'z3', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    run = python(tmp_path, "-c", code)
    assert run.returncode == 0, run.stderr
