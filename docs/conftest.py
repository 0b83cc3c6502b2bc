"""Running the blocks of the pages: Python as it stands, ``console`` blocks as a reader would.

A line ``...`` in what a command shows stands for any lines.
The folder that they run in has a link to this one once a command names ``docs/``; what they install
with pip goes into a folder of its own.
A Python block whose first line is a comment that names a file, such as ``# row_scale.py``, is saved
under that name in the folder that the page's commands run in, and can be imported from there.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from importlib import invalidate_caches
from itertools import takewhile
from pathlib import Path
from typing import Any

from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser

import tileops
from tileops.backend import REGISTRY

DOCS = Path(__file__).parent

# The template backend is a project of its own; its tests run where it is installed.
collect_ignore = ["examples"]

FILE = re.compile(r"# (\w+\.py)\n")


def enter_folder(namespace: dict[str, Any]) -> None:
    """Give a page an empty folder that modules are imported from."""
    folder = tempfile.TemporaryDirectory()
    REGISTRY.load()
    namespace.update(folder=folder, modules=set(sys.modules), registered=REGISTRY.snapshot())
    sys.path.insert(0, folder.name)


def leave_folder(namespace: dict[str, Any]) -> None:
    """Forget the folder, and what the page imported and registered."""
    folder = namespace["folder"]
    sys.path.remove(folder.name)
    for name in set(sys.modules) - namespace["modules"]:
        if getattr(sys.modules[name], "__file__", None) == str(Path(folder.name, f"{name}.py")):
            del sys.modules[name]
    REGISTRY.restore(namespace["registered"])
    folder.cleanup()


def evaluate_python(example: Example) -> None:
    """Save a block that names its file; run any other."""
    named = FILE.match(example.parsed)
    if named is None:
        PythonEvaluator()(example)
        return
    Path(example.namespace["folder"].name, named[1]).write_text(example.parsed)
    invalidate_caches()


def evaluate_console(example: Example) -> str | None:
    """Run every command of a block and compare what it shows, stderr included."""
    folder = Path(example.namespace["folder"].name)
    for command, expected in commands(example.parsed):
        # Where no command asks for it, a pytest run in the folder would collect what it holds.
        if f"{DOCS.name}/" in command and not (folder / DOCS.name).exists():
            (folder / DOCS.name).symlink_to(DOCS)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment(folder / "installed"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if not re.fullmatch(pattern(expected), done.stdout, re.DOTALL):
            return f"$ {command}\nshows\n{done.stdout}instead of\n{expected}"
    return None


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Split a block into its commands, each with the lines that follow it."""
    lines = iter(block.splitlines())
    line = next(lines, None)
    while line is not None:
        command = line.removeprefix("$ ")
        assert command != line, f"a console block begins with a command, not with {line!r}"
        rest = list(lines)
        shown = list(takewhile(lambda one: not one.startswith("$ "), rest))
        yield command, "".join(f"{one}\n" for one in shown)
        lines = iter(rest[len(shown) :])
        line = next(lines, None)


def pattern(expected: str) -> str:
    """Return the expression of what is expected; a line ``...`` stands for any lines."""
    return ".*".join(re.escape(part) for part in re.split(r"^\.\.\.\n", expected, flags=re.M))


def environment(installed: Path) -> dict[str, str]:
    """Return the environment of a reader without a GPU, with this source tree installed.

    What pip installs goes into *installed*; it needs no index, since its requirements are here.
    """
    hidden = ("NO_COLOR", "FORCE_COLOR")
    return {
        # What an installed tileops tells pytest by its entry point.
        "PYTEST_PLUGINS": "tileops.testing.plugin",
        **{name: value for name, value in os.environ.items() if name not in hidden},
        "PYTHONPATH": os.pathsep.join([str(Path(tileops.__file__).parents[1]), str(installed)]),
        "PIP_TARGET": str(installed),
        "PIP_NO_DEPS": "1",
        # pip reads this variable as the value of the option without its "no".
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]),
        "CUDA_VISIBLE_DEVICES": "",
    }


pytest_collect_file = Sybil(
    parsers=[
        CodeBlockParser(language="python", evaluator=evaluate_python),
        CodeBlockParser(language="console", evaluator=evaluate_console),
    ],
    pattern="*.md",
    excludes=["lint/*"],
    setup=enter_folder,
    teardown=leave_folder,
).pytest()
