"""Results files: what no run can have measured is refused, and nothing is left half written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from harness.record import Ceilings
from harness.store import ResultsFileError, UnwrittenResultsError, read, write
from samples import peer, results, row, timing

BENCH = Path(__file__).with_name("bench.py")


@pytest.mark.parametrize(
    ("held", "problem"),
    [
        pytest.param(
            results(row("a"), row("w", timing=timing(0.0))),
            "LayerNormFwdOp/w: timing.median_us must be positive, got 0.0",
            id="zero",
        ),
        pytest.param(
            results(row("w", copy=timing(-1.0))),
            "LayerNormFwdOp/w: copy.median_us must be positive, got -1.0",
            id="negative-copy",
        ),
        pytest.param(
            results(row("w", peers=(peer("torch", 0.0),))),
            "LayerNormFwdOp/w: peers[torch].timing.median_us must be positive, got 0.0",
            id="peer",
        ),
        pytest.param(
            results(row("w"), ceilings=Ceilings(copy_tbs=0.0, read_tbs=1.0, gemm_tflops=1.0)),
            "ceilings: copy_tbs must be positive, got 0.0",
            id="ceiling",
        ),
        pytest.param(
            results(row("w"), ceilings=None),
            "ceilings: missing, and the times of its workloads are held to them",
            id="no-ceilings",
        ),
        pytest.param(
            results(row("w"), row("x"), row("w", 101.0)),
            "LayerNormFwdOp/w is listed twice; keep one of its rows",
            id="twice",
        ),
    ],
)
def test_what_no_run_can_have_measured_is_refused(tmp_path, held, problem):
    """The error names the file, the workload and the field."""
    path = tmp_path / "r.json"
    path.write_bytes(msgspec.json.encode(held))
    with pytest.raises(ResultsFileError) as got:
        read(path)
    assert (got.value.path, got.value.problem) == (path, problem)


def test_what_is_written_is_read(tmp_path):
    """The file's own folder is made, and no draft stays in it."""
    held = results(row("w"), row("failed", None), row("x", op="Other"))
    path = tmp_path / "made" / "r.json"
    write(held, path)
    assert read(path) == held
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("place", "fragment"),
    [
        pytest.param("folder", "it is a folder; name a file", id="folder"),
        pytest.param("none/below/r.json", "cannot be made: No such file", id="folders-missing"),
        pytest.param("file/r.json", "cannot be made: ", id="file-as-folder"),
        pytest.param("/proc/self/fdinfo/r.json", "cannot write the results to", id="unwritable"),
    ],
)
def test_a_place_that_cannot_be_written(tmp_path, place, fragment):
    """The error names the file, and the tree is as it was."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UnwrittenResultsError, match=fragment) as got:
        write(results(row("w")), tmp_path / place)
    assert got.value.path == tmp_path / place
    assert sorted(tmp_path.rglob("*")) == before


def test_merging_into_a_folder_is_one_line(tmp_path):
    """The command ends with exit code 2 and a sentence that names the folder."""
    write(results(row("w")), tmp_path / "a.json")
    done = subprocess.run(
        [sys.executable, str(BENCH), "merge", str(tmp_path), str(tmp_path / "a.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"error: cannot write the results to {tmp_path}: it is a folder; name a file\n"
    )
