"""The picture of ``tileops explain`` in a terminal, drawn by rich from what a real run writes.

``python docs/generators/explain_picture.py`` writes ``docs/images/explain.svg``. The op is the
example of the page on selection.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from generated import DOCS, ROOT, write

__all__ = ["QUESTION", "answer", "pages"]

QUESTION = "tileops explain RowScaleFwdOp --import row_scale --n 1001 --gpu h200 --why-not hopper"
SOURCE = "how-an-op-selects-a-kernel.md"
FILE = "images/explain.svg"
COLUMNS = 98


def answer() -> str:
    """Run the question on the example's module and return what a terminal is sent."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "row_scale.py").write_text(_example(), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", *QUESTION.split()],
            cwd=folder,
            env={
                **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
                "FORCE_COLOR": "1",
                "PYTHONPATH": str(ROOT / "src"),
                "CUDA_VISIBLE_DEVICES": "",
            },
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return done.stdout


def pages() -> dict[str, str]:
    """Return the picture by its path below ``docs/``."""
    shown = Text().append("$ ", style="bold").append(f"{QUESTION}\n\n")
    shown.append_text(Text.from_ansi(answer().rstrip("\n")))
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for line in shown.split("\n"):
        # A terminal breaks a line where its width ends, not between words.
        for start in range(0, max(len(line), 1), COLUMNS):
            console.print(line[start : start + COLUMNS], highlight=False, no_wrap=True)
    console.print()
    drawn = console.export_svg(title="tileops explain", unique_id="explain")
    return {FILE: _without_fonts(drawn)}


def _without_fonts(svg: str) -> str:
    """Use fonts that a machine has: a picture should fetch none from elsewhere."""
    own = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)
    return own.replace("Fira Code", "ui-monospace, SFMono-Regular, Menlo, Consolas")


def _example() -> str:
    page = (DOCS / SOURCE).read_text(encoding="utf-8")
    found = re.search(r"^```python\n(# row_scale\.py\n.*?)^```$", page, flags=re.S | re.M)
    assert found is not None, f"{SOURCE} has no module row_scale.py"
    return found[1]


if __name__ == "__main__":
    write(pages())
