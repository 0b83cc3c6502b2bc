"""Comparing two runs: verdicts at the threshold, within the scatter, and at the edges."""

from __future__ import annotations

import msgspec
import pytest
from harness.compare import compare
from harness.record import Board, Ceilings
from samples import results, row


@pytest.mark.parametrize(
    ("old", "new", "scatter", "verdict"),
    [
        pytest.param(100.0, 105.0, 0.0, "same", id="slower-at-the-threshold"),
        pytest.param(100.0, 105.1, 0.0, "slower", id="slower-beyond"),
        pytest.param(100.0, 95.0, 0.0, "same", id="faster-at-the-threshold"),
        pytest.param(100.0, 94.9, 0.0, "faster", id="faster-beyond"),
        pytest.param(100.0, 120.0, 10.0, "same", id="within-the-scatter"),
        pytest.param(100.0, 120.1, 10.0, "slower", id="beyond-the-scatter"),
    ],
)
def test_a_change_counts_beyond_the_threshold_and_the_scatter(old, new, scatter, verdict):
    """Both must be exceeded."""
    comparison = compare(
        results(row("w", old, scatter)), results(row("w", new, scatter)), threshold=0.05
    )
    (change,) = comparison.changes
    assert change.verdict == verdict
    assert change.ratio == pytest.approx(new / old, abs=1e-4)
    assert [one.name for one in comparison.worse] == (
        ["LayerNormFwdOp/w"] if verdict == "slower" else []
    )


def test_workloads_of_one_run_only():
    """New ones are welcome; one that is gone or failed is worse, one not reached is neither."""
    old = results(row("both"), row("gone"), row("later"), row("broken"))
    new = results(
        row("both"), row("broken", None), row("added"), unfinished=("LayerNormFwdOp/later",)
    )
    comparison = compare(old, new, threshold=0.05)
    verdicts = {one.name.partition("/")[2]: one.verdict for one in comparison.changes}
    assert verdicts == {"both": "same", "broken": "failed", "added": "new", "gone": "gone"}
    assert {one.verdict for one in comparison.worse} == {"failed", "gone"}


def test_a_changed_selection_is_shown():
    """The keys of both runs stand in the row."""
    new = row("w", keys={"layer_norm": "layer_norm_warp"})
    (change,) = compare(results(row("w")), results(new), threshold=0.05).changes
    assert change.keys == "layer_norm -> layer_norm_warp"


def test_what_makes_runs_hard_to_compare_is_remarked():
    """Another board, another release and a drifting ceiling are said."""
    old = results(row("w"))
    new = msgspec.structs.replace(
        old,
        board=Board(name="NVIDIA A100", arch=80, sm_count=108, memory_bytes=1, l2_bytes=1),
        versions={"torch": "2.13.0", "tilelang": "0.1.15"},
        ceilings=Ceilings(copy_tbs=1.6, read_tbs=1.7, gemm_tflops=250.0),
    )
    remarks = compare(old, new, threshold=0.05).remarks
    assert remarks == (
        "the boards differ: NVIDIA H200 and NVIDIA A100",
        "torch 2.11.0 and 2.13.0",
        "the copy bandwidth of the new run is 0.400 times the old one's",
    )
    assert compare(old, old, threshold=0.05).remarks == ()
