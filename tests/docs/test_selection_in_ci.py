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
        sources = [Path(tileops.__file__).parents[1], self.folder / "src"]
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
    """The comment is the one the page shows."""
    repository.widen()
    repository.run(fences("bash")[0])
    repository.commit()

    for step in steps("selection.yml"):
        done = repository.run(step)
        assert done.returncode == 0, done.stdout + done.stderr

    comment = (repository.folder / "selection.md").read_text("utf-8")
    cores = re.compile(r" --sm-count \d+")
    assert cores.sub("", comment.strip()) == cores.sub("", fences("text")[0].strip())
    called = repository.called.read_text("utf-8").split()
    assert called[:3] == ["pr", "comment", "7"]
    assert called[called.index("--body-file") + 1] == "selection.md"
    assert (repository.folder.parent / "summary.md").read_text("utf-8") == comment


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
