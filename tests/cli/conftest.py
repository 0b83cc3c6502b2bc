"""Running the command line: in this process for speed, or as a program."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import tileops
from tileops.backend import REGISTRY
from tileops.cli import main
from tileops.device import current_device

PACKAGES = Path(__file__).with_name("packages")


@dataclass(frozen=True)
class Result:
    """What a command wrote, and how it ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Result]


@pytest.fixture
def no_gpu() -> None:
    """Skip where the question "what without a GPU?" cannot be asked."""
    if current_device() is not None:
        pytest.skip("this machine has an accelerator")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """Call the entry point with words, in the folder of the sample packages.

    What a command imports and registers is forgotten afterwards.
    """
    for name in ("NO_COLOR", "FORCE_COLOR", "PYTHONHASHSEED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.syspath_prepend(str(PACKAGES))
    monkeypatch.chdir(PACKAGES)
    REGISTRY.load()
    registered = REGISTRY.snapshot()

    def run(*words: str) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(words)
        out, err = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Result(code, out, err)

    yield run
    REGISTRY.restore(registered)
    for name in [name for name in sys.modules if name.startswith("acme_")]:
        if name != "acme_blend":
            del sys.modules[name]


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """The environment of a program that uses this very source tree, and sees no GPU."""
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    scripts = sysconfig.get_path("scripts")
    return {
        **kept,
        "PYTHONPATH": str(Path(tileops.__file__).parents[1]),
        "PATH": os.pathsep.join([scripts, os.environ["PATH"]]),
        "CUDA_VISIBLE_DEVICES": "",
    }


@pytest.fixture(scope="session")
def shell(environment: dict[str, str]) -> Command:
    """Run a line in bash, in the folder of the sample packages, ``tileops`` on its path."""

    def run(line: str, cwd: Path = PACKAGES, **variables: str) -> Result:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=cwd,
            env={**environment, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def modules_after(environment: dict[str, str]) -> Callable[..., set[str]]:
    """Run the entry point in a fresh interpreter; return the top-level modules then loaded."""
    script = (
        "import atexit, sys\n"
        "show = lambda: print('MODULES', *sorted(sys.modules), file=sys.stderr)\n"
        "atexit.register(show)\n"
        "from tileops.cli import main\n"
        "main(sys.argv[1:])\n"
    )

    def run(*words: str, **variables: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-c", script, *words],
            cwd=PACKAGES,
            env={**environment, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        last = done.stderr.splitlines()[-1].split()
        assert last[0] == "MODULES", done.stderr
        return {name.partition(".")[0] for name in last[1:]}

    return run
