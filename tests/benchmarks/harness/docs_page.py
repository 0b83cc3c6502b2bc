"""The generated page and its plots on disk: written, and compared with what they should be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.page import page
from harness.plots import digest_of, plot_name, plots
from harness.record import Results
from harness.store import read

__all__ = ["DOCS", "RESULTS", "committed_results", "stale_files", "write_page"]

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
RESULTS = Path(__file__).parents[1] / "results"
PAGE = "benchmarks.md"


def committed_results(folder: Path = RESULTS) -> tuple[Results, ...]:
    """Return the committed runs by file name."""
    return tuple(read(path) for path in sorted(folder.glob("*.json")))


def write_page(results: Sequence[Results], docs: Path = DOCS) -> list[Path]:
    """Write the page and its plots, and return the files written.

    Raises:
        MissingMatplotlibError: matplotlib is not installed.
    """
    files = {PAGE: page(results)}
    for one in results:
        files |= plots(one)
    for name, text in files.items():
        path = docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [docs / name for name in files]


def stale_files(results: Sequence[Results], docs: Path = DOCS) -> list[Path]:
    """Return the files of the page that do not show these results.

    Without results there is no page: then every file of it is stale. A plot is judged by the
    digest it carries, since its bytes depend on matplotlib's release.
    """
    wanted = _digests(results)
    present = {f"benchmarks/{path.name}" for path in (docs / "benchmarks").glob("*.svg")}
    stale = [docs / name for name in sorted(present - wanted.keys())]
    stale += [docs / name for name, digest in wanted.items() if digest not in _text(docs / name)]
    expected = page(results) if results else ""
    if _text(docs / PAGE) != expected:
        stale.append(docs / PAGE)
    return stale


def _digests(results: Sequence[Results]) -> dict[str, str]:
    digests = {}
    for one in results:
        for op in dict.fromkeys(row.op for row in one.rows):
            rows = [row for row in one.rows if row.op == op and row.fraction is not None]
            if rows:
                digests[plot_name(one, op)] = digest_of(rows)
    return digests


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
