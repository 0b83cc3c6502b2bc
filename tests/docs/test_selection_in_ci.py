"""The workflows of the page on continuous integration, run on the template backend in a repository.

The steps of GitHub's own actions and the installations are left out; everything else runs as the
page has it, in its order. ``gh`` is a script that keeps what it is given.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path

import pytest
import yaml

import tileops

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "selection-in-ci.md").read_text("utf-8")
BACKEND = ROOT / "docs" / "examples" / "tileops_acme"


def fences(language: str) -> list[str]:
    """The blocks of the page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.S | re.M)


def workflow(name: str) -> dict:
    """The workflow whose first line names the file."""
    (text,) = (one for one in fences("yaml") if one.startswith(f"# .github/workflows/{name}\n"))
    return yaml.safe_load(text)


def steps(name: str) -> list[str]:
    """The commands of a workflow's only job that install nothing."""
    (job,) = workflow(name)["jobs"].values()
    found = [step["run"] for step in job["steps"] if "run" in step]
    return [one for one in found if not one.startswith("pip install")]


class Repository:
    """A checkout of the backend on a runner."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "repository"
        shutil.copytree(BACKEND, self.folder, ignore=shutil.ignore_patterns("__pycache__"))
        tools = folder / "tools"
        tools.mkdir()
        gh = tools / "gh"
        gh.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$GH_CALLED"\n')
        gh.chmod(0o755)
        self.called = folder / "called"
        sources = [Path(tileops.__file__).parents[1], self.folder / "src", folder / "installed"]
        self.install(folder / "installed")
        self.environment = {
            **os.environ,
            "PATH": os.pathsep.join(
                [str(tools), sysconfig.get_path("scripts"), os.environ["PATH"]]
            ),
            "PYTHONPATH": os.pathsep.join(map(str, sources)),
            "CUDA_VISIBLE_DEVICES": "",
            "GH_CALLED": str(self.called),
            "GITHUB_BASE_REF": "main",
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "NUMBER": "7",
            "GIT_CONFIG_GLOBAL": os.devnull,
            **{
                f"GIT_{who}_{what}": "someone@example.com"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
        }
        self.run("git init --quiet --initial-branch main")

    def install(self, place: Path, version: str | None = None) -> None:
        """Let the backend be installed as ``pip install -e .`` does, in its own version or another.

        Of the distribution, only what an installation says of it is made: its sources stay here.
        """
        project = tomllib.loads((self.folder / "pyproject.toml").read_text("utf-8"))["project"]
        (points,) = project["entry-points"].items()
        shutil.rmtree(place, ignore_errors=True)
        told = place / f"tileops_acme-{version or project['version']}.dist-info"
        told.mkdir(parents=True)
        name = f"Name: {project['name']}\nVersion: {version or project['version']}\n"
        (told / "METADATA").write_text(f"Metadata-Version: 2.4\n{name}", "utf-8")
        lines = [f"{one} = {module}\n" for one, module in points[1].items()]
        (told / "entry_points.txt").write_text(f"[{points[0]}]\n{''.join(lines)}", "utf-8")

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """Run a line as a runner does."""
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", line],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def commit(self) -> None:
        """Commit everything."""
        done = self.run("git add --all && git commit --quiet --message change")
        assert done.returncode == 0, done.stderr

    def widen(self) -> None:
        """Let the backend's kernel serve rows twice as long."""
        kernels = self.folder / "src" / "tileops_acme" / "_kernels.py"
        text = kernels.read_text("utf-8")
        assert "LONGEST_ROW = 256" in text
        kernels.write_text(text.replace("LONGEST_ROW = 256", "LONGEST_ROW = 512"), "utf-8")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """The backend with its lock on ``main``, and a branch of a pull request."""
    made = Repository(tmp_path)
    done = made.run(fences("bash")[0])
    assert done.returncode == 0, done.stderr
    made.commit()
    made.run("git update-ref refs/remotes/origin/main main && git switch --quiet --create change")
    return made


def test_the_lint_workflow_writes_sarif(repository):
    """The file that is uploaded is SARIF, and the template has no findings."""
    for step in steps("lint.yml"):
        done = repository.run(step)
        assert done.returncode == 0, done.stderr

    written = json.loads((repository.folder / "lint.sarif").read_text("utf-8"))
    uploaded = workflow("lint.yml")["jobs"]["contract"]["steps"][-1]["with"]["sarif_file"]
    assert uploaded == "lint.sarif"
    assert written["version"] == "2.1.0"
    assert written["runs"][0]["results"] == []


def test_a_finding_fails_the_lint_workflow_and_is_in_the_file(repository):
    """The upload still has something to upload."""
    kernels = repository.folder / "src" / "tileops_acme" / "_kernels.py"
    text = kernels.read_text("utf-8")
    stated = 'devices = frozenset({"cpu"})'
    assert stated in text
    kernels.write_text(text.replace(stated, 'devices = "cpu"'), "utf-8")

    done = repository.run(steps("lint.yml")[0])

    written = json.loads((repository.folder / "lint.sarif").read_text("utf-8"))
    assert done.returncode == 1
    assert [one["ruleId"] for one in written["runs"][0]["results"]] == ["devices-form"]


def test_a_change_with_its_lock_passes_and_is_shown_in_the_pull_request(repository):
    """The comment is the one the page shows, whose runner has four cores."""
    repository.widen()
    repository.run(fences("bash")[0])
    repository.commit()

    for step in steps("selection.yml"):
        done = repository.run(step)
        assert done.returncode == 0, done.stdout + done.stderr

    comment = (repository.folder / "selection.md").read_text("utf-8")
    cores = f"--device cpu --sm-count {os.cpu_count()}`"
    assert comment.replace(cores, "--device cpu --sm-count 4`") == fences("text")[0]
    called = repository.called.read_text("utf-8").split()
    assert called[:3] == ["pr", "comment", "7"]
    assert called[called.index("--body-file") + 1] == "selection.md"
    assert (repository.folder.parent / "summary.md").read_text("utf-8") == comment


def test_a_release_of_the_backend_passes_the_check(repository, tmp_path):
    """Installed in another version, it selects what it did."""
    locked = repository.folder / "selection"
    before = {one.name: one.read_text("utf-8") for one in locked.iterdir()}
    assert list(before) == ["norm.json"]
    assert "tileops-acme" in before["norm.json"]
    assert "1.2.0" not in before["norm.json"]
    repository.install(tmp_path / "installed", "7.0.1")

    done = repository.run(steps("selection.yml")[0])

    assert (done.returncode, done.stdout) == (0, "the inventory says what the ops select\n")
    repository.run(fences("bash")[0])
    assert {one.name: one.read_text("utf-8") for one in locked.iterdir()} == before


def test_a_lock_made_without_installing_passes_too(repository, tmp_path):
    """Whether a distribution told tileops of the backend is no part of what is selected."""
    shutil.rmtree(tmp_path / "installed")

    done = repository.run(steps("selection.yml")[0])

    assert (done.returncode, done.stdout) == (0, "the inventory says what the ops select\n")


def test_the_pull_request_that_adds_the_lock_is_told_that_the_base_has_none(repository):
    """The comparison fails, and says how there can be one."""
    repository.run("git rm -r --quiet selection")
    repository.commit()
    repository.run("git update-ref refs/remotes/origin/main HEAD")
    repository.run(fences("bash")[0])
    repository.commit()

    done = repository.run(steps("selection.yml")[1])

    assert done.returncode == 3
    assert "git worktree add ../old origin/main" in done.stderr


def test_a_change_without_its_lock_fails(repository):
    """The check names the calls that moved."""
    repository.widen()
    repository.commit()

    done = repository.run(steps("selection.yml")[0])

    assert done.returncode == 1
    assert "n > 256 and n <= 512" in done.stdout


def test_the_audit_passes_with_the_calls_the_lock_accepts(repository):
    """And without the lock, the calls that the template refuses are a finding."""
    (_, line) = fences("bash")

    assert repository.run(line).returncode == 0
    assert repository.run(line.replace("--inventory selection", "")).returncode == 1


def test_the_hooks_shown_are_those_that_other_repositories_can_use():
    """Every id of the page, and every id there is."""
    (text,) = (one for one in fences("yaml") if one.startswith("# .pre-commit-config.yaml\n"))
    (repository,) = yaml.safe_load(text)["repos"]
    offered = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))

    assert [hook["id"] for hook in repository["hooks"]] == [hook["id"] for hook in offered]
