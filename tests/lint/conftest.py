"""Projects to lint, and the command line in this process or as a program."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import tileops.lint
from tileops.cli import main

SOURCES = Path(tileops.lint.__file__).parents[2]


@dataclass(frozen=True)
class Result:
    """What a command wrote, and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Call the entry point with words, in the folder the test is in."""

    def run(*words: str) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(words)
        code = ended.value.code
        return Result(code if isinstance(code, int) else 0, *capsys.readouterr())

    return run


@pytest.fixture
def python() -> Callable[..., Result]:
    """Run Python on the sources of this checkout, in a folder."""

    def run(cwd: Path, *words: str, **environment: str) -> Result:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(SOURCES), **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Mapping[str, str | bytes]], Path]:
    """Make files, track them with git, and go to their folder."""

    def make(files: Mapping[str, str | bytes]) -> Path:
        for path, text in files.items():
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
        for words in (["init", "-q"], ["add", "."]):
            subprocess.run(["git", *words], cwd=tmp_path, check=True)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return make
