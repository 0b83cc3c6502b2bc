"""What a run shows: progress on stderr, one line per finished workload on stdout."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from harness.compare import Comparison
from harness.record import HostRow, PeerRow, Row

__all__ = ["RunConsole", "host_line", "print_comparison", "row_line"]

COLORS = {"faster": "green", "slower": "red", "failed": "red", "gone": "red"}


class RunConsole:
    """Shows a run; use it as a context manager.

    Args:
        total: How many results there will be: of cases, and again with their slow peers.
        rows: Whether cases are timed, or host times are all there is.
    """

    def __init__(self, total: int, rows: bool = True) -> None:
        self._rows = rows
        self._progress = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("", total=total)

    def starts(self, case: str) -> None:
        """Name the case in the bar."""
        self._progress.update(self._task, description=case)

    def has(self, row: Row) -> None:
        """Print the workload and advance."""
        print(row_line(row), flush=True)
        self._progress.advance(self._task)

    def has_host(self, row: HostRow) -> None:
        """Print the host times."""
        print(host_line(row), flush=True)
        if not self._rows:
            self._progress.advance(self._task)

    def __enter__(self) -> RunConsole:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()


def host_line(row: HostRow) -> str:
    """Return an op's host times on one line."""
    if not row.us:
        return f"{row.op}/{row.workload} host FAILED {row.detail}"
    many = f" of {row.launches} launches" if row.launches > 1 else ""
    times = [f"{name}{many if name == 'bare' else ''} {us:.2f}" for name, us in row.us.items()]
    times += [] if row.over is None else [f"over {row.over:.2f}"]
    times += [] if row.new_size is None else [f"new size {row.new_size:.1f}"]
    return f"{row.op} host us/call: {'  '.join(times)}"


def row_line(row: Row) -> str:
    """Return a workload's result on one line, with the peers that have been reached."""
    name = f"{row.op}/{row.workload}"
    keys = ", ".join(row.keys.values())
    if row.timing is None or row.fraction is None:
        return f"{name} [{keys}] FAILED {row.detail}"
    peers = "  ".join(
        f"{peer.name} {peer.speedup:.2f}x" if peer.speedup is not None else _excuse(peer)
        for peer in row.peers
        if peer.status != "unfinished"
    )
    return (
        f"{name} [{keys}] {row.timing.median_us:.2f} us "
        f"(spread {100 * row.timing.spread:.1f}%)  {row.fraction:.3f} of {row.bound}, "
        f"{row.of_copy or 0:.3f} of a copy its size  | {peers}"
    )


def _excuse(peer: PeerRow) -> str:
    if peer.status == "absent":
        return f"{peer.name} absent"
    return f"{peer.name} {peer.status} ({peer.detail[:90]})"


def print_comparison(comparison: Comparison) -> None:
    """Print every workload of two runs, then what makes them hard to compare."""
    table = Table(box=None, pad_edge=False)
    for title in ("workload", "key"):
        table.add_column(title, overflow="fold")
    for title in ("old us", "new us", "new/old"):
        table.add_column(title, justify="right")
    table.add_column("")
    for change in comparison.changes:
        table.add_row(
            change.name,
            change.keys,
            *["" if us is None else f"{us:.2f}" for us in (change.old_us, change.new_us)],
            "" if change.ratio is None else f"{change.ratio:.3f}",
            "" if change.verdict == "same" else change.verdict,
            style=COLORS.get(change.verdict),
        )
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    console.print(table)
    for remark in comparison.remarks:
        console.print(f"note: {remark}")
