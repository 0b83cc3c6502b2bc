"""The plots of the page as SVG, through matplotlib (the package's extra ``plot``)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

import msgspec

from harness.record import Results, Row

__all__ = ["MissingMatplotlibError", "digest_of", "plot_name", "plots"]

DIGEST = "results-digest"


class MissingMatplotlibError(ImportError):
    """Plots were asked for without matplotlib."""

    def __init__(self) -> None:
        super().__init__("plots need matplotlib; install it with: pip install 'tileops[plot]'")


def plot_name(results: Results, op: str) -> str:
    """Return the plot's path relative to the page."""
    board = "".join(one if one.isalnum() else "-" for one in results.board.name.lower())
    return f"benchmarks/{board}-{op}.svg"


def digest_of(rows: Sequence[Row]) -> str:
    """Return what a plot of these rows carries, so that a stale one is known without drawing."""
    return hashlib.sha256(msgspec.json.encode(list(rows))).hexdigest()[:16]


def plots(results: Results) -> Mapping[str, str]:
    """Return the plots of a run: SVG by path relative to the page.

    Raises:
        MissingMatplotlibError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingMatplotlibError from error
    drawn: dict[str, str] = {}
    # A fixed salt keeps the ids inside the SVG the same from one run to the next.
    with mpl.rc_context({"svg.hashsalt": "tileops", "svg.fonttype": "none", "font.size": 9}):
        for op in dict.fromkeys(row.op for row in results.rows):
            rows = [row for row in results.rows if row.op == op and row.fraction is not None]
            if rows:
                figure = Figure(figsize=(9, 0.5 + 0.26 * len(rows)), layout="constrained")
                _draw(figure.subplots(), rows, op)
                drawn[plot_name(results, op)] = _svg(figure, digest_of(rows))
    return drawn


def _draw(axes: Any, rows: Sequence[Row], op: str) -> None:
    """Draw one line per workload: our fraction of the roofline as a bar, the peers' as dots."""
    places = range(len(rows))
    axes.barh(places, [row.fraction for row in rows], color="#4c78a8", label="tileops", height=0.6)
    peers = dict.fromkeys(p.name for row in rows for p in row.peers if p.speedup is not None)
    for name, marker, color in zip(peers, "osD^vP*X", _COLORS, strict=False):
        dots = [
            (peer_row.fraction / peer.speedup, place)
            for place, peer_row in enumerate(rows)
            for peer in peer_row.peers
            if peer.name == name and peer.speedup is not None and peer_row.fraction is not None
        ]
        axes.scatter(*zip(*dots, strict=True), s=22, marker=marker, color=color, label=name)
    axes.set_yticks(places, [row.workload for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, 1.05)
    axes.axvline(1.0, color="#888888", linewidth=0.8)
    axes.set_xlabel("fraction of the measured roofline")
    axes.set_title(op, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)


_COLORS = ("#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#9d755d", "#bab0ac", "#eeca3b")


def _svg(figure: Any, digest: str) -> str:
    text = StringIO()
    # Without a date the same results give the same file.
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": f"{DIGEST}:{digest}"})
    lines = (line.rstrip() for line in text.getvalue().splitlines())
    return "\n".join(lines) + "\n"
