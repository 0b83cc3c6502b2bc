"""How long the command line takes to answer, beside importing torch.

``python tests/benchmarks/cli_startup.py [ROUNDS]`` prints the median of each command and its ratio
to ``import torch``, all taken in one run.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

TILEOPS = (sys.executable, "-m", "tileops")

BASELINE = "import torch"

COMMANDS: dict[str, tuple[str, ...]] = {
    BASELINE: (sys.executable, "-c", "import torch"),
    "help": (*TILEOPS, "--help"),
    "explain": (*TILEOPS, "explain", "LayerNormFwdOp", "--n", "256", "--arch", "90"),
}

BUDGETS = {"help": 0.15, "explain": 1.3}
"""The largest ratio to the baseline that is allowed."""


def medians(names: Sequence[str], rounds: int) -> dict[str, float]:
    """Run the commands in turn, *rounds* times, and return each one's median in seconds.

    They take turns so that a slow spell of the machine falls on all of them.
    """
    source = Path(__file__).parents[2] / "src"
    environment = {**os.environ, "PYTHONPATH": str(source)}
    times: dict[str, list[float]] = {name: [] for name in names}
    # The first run of each fills the file cache and writes bytecode; it is not counted.
    for counted in (False, *[True] * rounds):
        for name in names:
            start = time.perf_counter()
            subprocess.run(COMMANDS[name], env=environment, stdout=subprocess.DEVNULL, check=True)
            if counted:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def main() -> None:
    """Print the medians and the ratios; exit 1 when a budget is exceeded."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    taken = medians(list(COMMANDS), rounds)
    late = False
    for name, seconds in taken.items():
        ratio = seconds / taken[BASELINE]
        budget = BUDGETS.get(name)
        verdict = ""
        if budget is not None:
            late = late or ratio > budget
            verdict = f"  {ratio:.3f} of the baseline, budget {budget}"
        print(f"{name:<14}{seconds * 1000:8.1f} ms{verdict}")
    sys.exit(int(late))


if __name__ == "__main__":
    main()
