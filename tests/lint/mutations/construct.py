"""Checks the in-tree ops as constructing does, once per mutant, and prints what is raised.

Reads a JSON list of mutants from stdin, each a map from path to text over the folder given as
argument, and writes a JSON list of error class names, "" where nothing is raised. The folder holds
``src`` and the template backend; torch is loaded once, tileops anew for every mutant.
"""

import importlib
import json
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch

ROOT = Path(sys.argv[1])
WITH_SHAPE = ("LayerNormFwdOp", "RMSNormFwdOp")
ACME = "docs/examples/tileops_acme/src"


def forget() -> None:
    """Drop every module of the trees that change."""
    for name in [n for n in sys.modules if n.partition(".")[0] in ("tileops", "tileops_acme")]:
        del sys.modules[name]
    importlib.invalidate_caches()


def raised() -> str:
    """Check every op as constructing it does, and call the row norms on the CPU."""
    try:
        catalogue = importlib.import_module("tileops.ops.catalogue")
        importlib.import_module("tileops_acme")
        found = catalogue.in_tree_ops()
        for op in found.values():
            if op.interfaces or op.kernel_types:
                op.selection_tables()
        for name in WITH_SHAPE:
            call(found[name](8), torch.ones(2, 8))
    except Exception as error:
        if "--traceback" in sys.argv:
            traceback.print_exc()
        return type(error).__name__
    return ""


def call(op: Callable[..., object], x: torch.Tensor) -> None:
    """Call an op; that no kernel runs on the CPU is no mistake."""
    unavailable = importlib.import_module("tileops.errors").OpNotAvailableError
    with suppress(unavailable):
        op(x)


def main() -> None:
    """Answer for each mutant."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / ACME)]
    answers: list[str] = []
    for files in json.load(sys.stdin):
        before = {path: (ROOT / path).read_text() for path in files}
        for path, text in files.items():
            (ROOT / path).write_text(text)
        forget()
        answers.append(raised())
        for path, text in before.items():
            (ROOT / path).write_text(text)
    print(json.dumps(answers))


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
