"""``--fix``, ``--unsafe-fixes`` and ``--diff``: what is written, what is shown, what is kept."""

import json
import os
import stat
import subprocess

import pytest

HEAD = """\
from tileops.backend import CallSpec, Kernel, KernelInterface


"""
KERNEL = """\
class AKernel(Kernel):
    def refusal(cls, call):
        return None  # served
"""
SPEC = """\
class ACallSpec(CallSpec):
    n: int = 0
"""
SETTINGS = """\
[tool.tileops.lint]
select = ["entry-for-not-classmethod", "interface-name", "call-spec-not-frozen", "unused-ignore"]
"""
NAMED = "class AFwdWideInterface(KernelInterface): ...\n"


@pytest.fixture
def project(repository):
    """A repository with one safe and one unsafe fix to make, in two files."""
    return repository(
        {
            "pyproject.toml": SETTINGS,
            "a.py": HEAD + KERNEL,
            "wide.py": HEAD + "class BatchNormFwdWideInterface(KernelInterface): ...\n",
            "uses.py": "from wide import BatchNormFwdWideInterface as B\n",
        }
    )


def test_fix_applies_safe_fixes_and_exits_with_1(project, cli):
    """The file is rewritten, the exit says that there was something; the next run is clean."""
    run = cli("lint", "--fix", "a.py")
    assert run.code == 1
    assert run.out == "1 file checked, no findings\n"
    assert "resolved 1 finding in 1 file" in run.err
    expected = KERNEL.replace("    def", "    @classmethod\n    def")
    assert (project / "a.py").read_text() == HEAD + expected
    assert cli("lint", "--fix", "a.py").code == 0


def test_unsafe_fixes_are_left_to_their_option(project, cli):
    """``--fix`` leaves an unsafe fix; ``--unsafe-fixes`` makes it wherever the name is used."""
    assert "interface-name" in cli("lint", "--fix").out
    run = cli("lint", "--unsafe-fixes")
    assert "resolved 1 finding in 2 files" in run.err
    assert "class BatchNormWideFwdInterface" in (project / "wide.py").read_text()
    assert (project / "uses.py").read_text() == "from wide import BatchNormWideFwdInterface as B\n"
    assert cli("lint").code == 0


def test_only_findings_that_are_shown_are_fixed(project, cli):
    """Fixes concern the given paths, though a rename may reach other files."""
    before = (project / "a.py").read_bytes()
    cli("lint", "--unsafe-fixes", "wide.py")
    assert (project / "a.py").read_bytes() == before
    assert "BatchNormWideFwdInterface" in (project / "uses.py").read_text()


def test_diff_writes_nothing_and_applies_with_git(project, cli):
    """The diff on stdout is what ``--fix`` would do, as ``git apply`` takes it."""
    before = {file: file.read_bytes() for file in project.glob("*.py")}
    run = cli("lint", "--diff", "--unsafe-fixes")
    assert run.code == 1
    assert {file: file.read_bytes() for file in before} == before
    subprocess.run(["git", "apply"], input=run.out, text=True, cwd=project, check=True)
    clean = cli("lint", "--diff", "--unsafe-fixes")
    assert (clean.code, clean.out, clean.err) == (0, "", "")


@pytest.mark.parametrize("end", [b"", b"\n"], ids=["open", "closed"])
def test_diff_of_a_file_without_a_last_line_end(project, cli, end):
    """A last line without an end is marked as diffs do."""
    text = HEAD.encode() + KERNEL.encode().rstrip() + end
    (project / "a.py").write_bytes(text)
    run = cli("lint", "--diff", "a.py")
    assert ("\\ No newline at end of file" in run.out) is (end == b"")
    subprocess.run(["git", "apply"], input=run.out, text=True, cwd=project, check=True)
    assert cli("lint", "a.py").code == 0


def test_json_carries_the_edits(project, cli):
    """A machine-readable report says what each fix would put where, without making it."""
    report = json.loads(cli("lint", "--format", "json", "a.py").out)
    (finding,) = report["findings"]
    (edit,) = finding["fix"]["edits"]
    assert edit["text"] == "    @classmethod\n"
    assert edit["range"]["start"] == edit["range"]["end"] == {"line": 5, "column": 1}
    assert "@classmethod" not in (project / "a.py").read_text()


def test_mode_and_link_survive(project, cli):
    """A fixed file keeps its mode, and a symbolic link still names it."""
    target = project / "real.py"
    (project / "a.py").rename(target)
    target.chmod(0o755)
    (project / "a.py").symlink_to("real.py")
    assert cli("lint", "--fix", "a.py").code == 1
    assert (project / "a.py").is_symlink()
    assert "@classmethod" in target.read_text()
    assert stat.S_IMODE(target.stat().st_mode) == 0o755


def test_nothing_is_written_when_one_file_cannot_be(project, cli, monkeypatch):
    """A rename over two files is made whole or not at all, and leaves no litter."""
    before = {file.name: file.read_bytes() for file in project.iterdir() if file.is_file()}
    made = []
    fdopen = os.fdopen

    def full(handle, *arguments):
        made.append(handle)
        if len(made) == 2:
            raise OSError(28, "No space left on device")
        return fdopen(handle, *arguments)

    cli("lint")
    monkeypatch.setattr(os, "fdopen", full)
    run = cli("lint", "--unsafe-fixes", "--no-cache", "wide.py")
    assert run.code == 3
    assert "No space left on device; nothing was changed" in run.err
    after = {file.name: file.read_bytes() for file in project.iterdir() if file.is_file()}
    assert after == before


def test_withheld_fix_says_why(project, cli):
    """A fix that would break another rule is not made, and the finding says so."""
    (project / "wide.py").write_text(
        HEAD
        + "class BatchNormWideFwdInterface: ...\n"
        + "class BatchNormFwdWideInterface(KernelInterface): ...\n"
    )
    before = (project / "wide.py").read_bytes()
    run = cli("lint", "--unsafe-fixes", "wide.py")
    assert run.code == 1
    assert "  note: the fix was withheld: " in run.out
    assert (project / "wide.py").read_bytes() == before


def test_findings_of_the_baseline_are_not_fixed(project, cli):
    """What a project decided to live with is not touched."""
    assert cli("lint", "--baseline", "known.json", "--update-baseline").code == 0
    before = (project / "a.py").read_bytes()
    run = cli("lint", "--baseline", "known.json", "--fix")
    assert run.code == 0
    assert (project / "a.py").read_bytes() == before
