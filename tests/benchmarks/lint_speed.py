"""How long linting a large operator library takes, beside parsing it and beside another linter.

``python tests/benchmarks/lint_speed.py [--lines N] [--rounds N] [--fixit PYTHON]`` writes a tree in
the shape of such a library and prints each case's seconds and its ratio to ``ast.parse`` of the
same files, all taken in one run with every rule on. ``--fixit`` names an interpreter that has
fixit, by default this one; without it that row is left out.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from lint_tree import write_tree

SOURCE = Path(__file__).parents[2] / "src"
LINT = (sys.executable, "-m", "tileops", "lint", "--select", "all", "--statistics")
PARSE = (
    sys.executable,
    "-c",
    "import ast, pathlib\nfor f in pathlib.Path('.').rglob('*.py'): ast.parse(f.read_bytes())",
)
FIXIT_SETTINGS = """\
[tool.fixit]
root = true
enable = ["fixit.rules.no_inherit_from_object:NoInheritFromObject"]
disable = ["fixit.rules"]
"""

BASELINE = "ast.parse of the same files"
COLD_BUDGET = 4.0
"""The largest ratio of a cold run to the baseline that is allowed."""
BUDGETS = {"warm": 0.3, "three files changed": 0.5}
"""The largest number of seconds that is allowed."""


@dataclass(frozen=True)
class Taken:
    """The seconds of one case: on the clock, and of all processes together."""

    wall: float
    cpu: float


def timed(command: Sequence[str], cwd: Path) -> Taken:
    """Run a command and return what it took; findings are no failure."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, check=False)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command} failed:\n{done.stderr.decode()}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(wall, cpu)


def forget(root: Path) -> None:
    """Remove the linter's cache."""
    shutil.rmtree(root / ".tileops_cache", ignore_errors=True)


def change(root: Path) -> None:
    """Append a line to three files of different kinds."""
    for path in (
        "kernels/family0/kernel1.py",
        "kernels/family1/call_spec.py",
        "ops/family2/op3.py",
    ):
        with (root / "src" / "tileops" / path).open("a") as file:
            file.write(f"# {time.monotonic_ns()}\n")


def cases(root: Path, fixit: str) -> dict[str, tuple[Callable[[Path], None], Sequence[str]]]:
    """Return what to do before each case, and the command that is timed."""

    def nothing(_: Path) -> None: ...

    found: dict[str, tuple[Callable[[Path], None], Sequence[str]]] = {
        BASELINE: (nothing, PARSE),
        "cold, one process": (forget, (*LINT, "-j", "1")),
        "cold, two processes": (forget, (*LINT, "-j", "2")),
        "warm": (nothing, LINT),
        "three files changed": (change, (*LINT, "-j", "1")),
    }
    if fixit:
        found["fixit, one trivial rule"] = (nothing, (fixit, "-m", "fixit", "lint", "src"))
    return found


def with_fixit(python: str) -> str:
    """Return an interpreter when it can import fixit, else ""."""
    asked = subprocess.run([python, "-c", "import fixit"], capture_output=True, check=False)
    return "" if asked.returncode else python


def measure(root: Path, rounds: int, fixit: str) -> dict[str, Taken]:
    """Run the cases in turn and return each one's best round; fixit runs once."""
    best: dict[str, Taken] = {}
    for number in range(rounds):
        for name, (prepare, command) in cases(root, fixit if number == 0 else "").items():
            prepare(root)
            taken = timed(command, root)
            if name not in best or taken.wall < best[name].wall:
                best[name] = taken
    return best


def main() -> None:
    """Print the table; exit 1 when a budget is exceeded."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=150_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fixit", default=sys.executable)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        lines = write_tree(root, options.lines)
        (root / "pyproject.toml").write_text(FIXIT_SETTINGS)
        files = len(list(root.rglob("*.py")))
        print(f"{lines:,} lines in {files} files, best of {options.rounds} rounds")
        best = measure(root, options.rounds, with_fixit(options.fixit))
    raise SystemExit(1 if report(best) else 0)


def report(best: dict[str, Taken]) -> bool:
    """Print the cases and say whether one is late."""
    late = False
    for name, taken in best.items():
        ratio = taken.wall / best[BASELINE].wall
        budget, limit = "", None
        if name in BUDGETS:
            limit, budget = BUDGETS[name], f"budget {BUDGETS[name]} s"
        elif name == "cold, one process":
            limit, budget = COLD_BUDGET * best[BASELINE].wall, f"budget {COLD_BUDGET}x"
        if limit is not None and taken.wall > limit:
            late, budget = True, f"{budget}: LATE"
        print(f"{name:28} {taken.wall:7.2f} s  {taken.cpu:7.2f} cpu s  {ratio:6.2f}x  {budget}")
    return late


if __name__ == "__main__":
    main()
