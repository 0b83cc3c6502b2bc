"""The generated page: what it says, and that a stale one is found."""

from __future__ import annotations

import pytest
from harness.docs_page import DOCS, committed_results, stale_files, write_page
from harness.page import page
from harness.plots import plot_name
from harness.record import HostRow, PeerRow
from samples import peer, results, row

RUN = results(
    row("n-4096", 125.0, 0.5, peers=(peer("torch", 1.6, 125.0), peer("compile", 0.98, 125.0))),
    row("n-64", 200.0, peers=(PeerRow(name="torch", status="disagrees", detail="0.2 away"),)),
    row("n-1", None, detail="no kernel"),
    hosts=(
        HostRow(
            op="LayerNormFwdOp",
            workload="n-64",
            us={"op": 9.25, "bare": 5.0, "empty_like": 2.5, "liger": 30.0, "torch": 11.0},
            over=1.75,
            new_size=40.5,
        ),
    ),
    unfinished=("LayerNormFwdOp/n-7",),
)


def table_rows(text, first):
    """Return the cells of the table rows whose first cell is *first*."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    return [cells for cells in rows if cells[0] == first]


def test_a_workload_is_a_row_of_the_table():
    """Time, spread, bandwidth, rate, roofline fraction, then each peer's time over ours."""
    assert table_rows(page([RUN]), "n-4096") == [
        ["n-4096", "`bf16[24414, 4096]`", "`layer_norm`", "125.00", "0.8%", "3.20", "0.0", "0.80",
         "", "1.60", "0.98"],
    ]  # fmt: skip


def test_what_was_not_timed_is_said():
    """A peer without a time shows why; a failed workload has a sentence and no row."""
    text = page([RUN])
    assert table_rows(text, "n-64")[0][-2:] == ["disagrees", ""]
    assert table_rows(text, "n-1") == []
    assert "* `n-64`: torch: 0.2 away" in text
    assert "* `n-1`: no kernel" in text
    assert "The run ended before it reached `LayerNormFwdOp/n-7`" in text


def test_the_conditions_and_the_host_times_are_there():
    """Date, commit, ceilings and versions; host time in microseconds."""
    text = page([RUN])
    assert "Measured on 2026-01-02 at commit `0123456789ab`, 21 samples a call." in text
    assert "copy 4.00 TB/s, read 4.10 TB/s, bf16 matrix product 700 TFLOP/s" in text
    assert "torch 2.11.0, tilelang 0.1.15" in text
    assert table_rows(text, "LayerNormFwdOp") == [
        ["LayerNormFwdOp", "n-64", "9.25", "11.00", "5.00", "2.50", "1.75", "40.50", "30.00"],
    ]
    assert table_rows(text, "Op") == [
        ["Op", "Workload", "ours", "torch", "bare", "empty_like", "over", "new size", "liger"],
    ]
    assert "the round in the middle" in text


def test_host_times_of_earlier_files_are_medians():
    """The page says so, and has no columns of what they do not hold."""
    host = HostRow(op="LayerNormFwdOp", workload="n-64", us={"op": 9.25, "torch": 11.0})
    text = page([results(row("n-64"), hosts=(host,), schema="tileops.benchmark/1.2")])
    assert table_rows(text, "Op") == [["Op", "Workload", "ours", "torch"]]
    assert "medians" in text
    assert "the round in the middle" not in text


def test_a_run_of_host_times_alone_has_a_page_without_ceilings():
    """It measured none."""
    host = HostRow(op="LayerNormFwdOp", workload="n-64", us={"op": 9.25})
    text = page([results(hosts=(host,), ceilings=None)])
    assert "Ceilings" not in text
    assert table_rows(text, "LayerNormFwdOp") == [["LayerNormFwdOp", "n-64", "9.25"]]


def test_the_page_begins_with_what_is_measured():
    """An op that has a time is named among the measured ones, every other of the tree is not."""
    head = page([RUN]).partition("\n## ")[0].rstrip()
    measured, others = head.splitlines()[-2:]
    assert measured == "Measured so far: [LayerNormFwdOp](ops/LayerNormFwdOp.md)."
    assert others.startswith("Not measured: ")
    assert "[GemmFwdOp](ops/GemmFwdOp.md)" in others
    assert "[LayerNormFwdOp]" not in others


def test_the_page_is_the_same_from_run_to_run(tmp_path):
    """Writing twice gives the same bytes, plots included."""
    pytest.importorskip("matplotlib")
    first = [path.read_bytes() for path in write_page([RUN], tmp_path)]
    assert first == [path.read_bytes() for path in write_page([RUN], tmp_path)]
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")} == {
        "benchmarks.md",
        "benchmarks/nvidia-h200-LayerNormFwdOp.svg",
    }


def test_a_stale_page_or_plot_is_found(tmp_path):
    """New figures make both stale; a plot that no run asks for is stale too."""
    pytest.importorskip("matplotlib")
    write_page([RUN], tmp_path)
    plot = tmp_path / plot_name(RUN, "LayerNormFwdOp")
    assert stale_files([RUN], tmp_path) == []

    faster = results(row("n-4096", 120.0))
    assert stale_files([faster], tmp_path) == [plot, tmp_path / "benchmarks.md"]
    assert stale_files([], tmp_path) == [plot, tmp_path / "benchmarks.md"]

    (tmp_path / "benchmarks.md").write_text(page([RUN]) + "\n")
    assert stale_files([RUN], tmp_path) == [tmp_path / "benchmarks.md"]


def test_the_committed_page_shows_the_committed_results():
    """The page and its plots in docs are what the results files say; with none there is no page."""
    assert stale_files(committed_results(), DOCS) == []
