"""The example of a traced transformer."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tileops
from tileops.introspect.trace import read_recording, summarise

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


ACME = EXAMPLES / "tileops_acme" / "src"


def run_traced_block(folder, *paths):
    """Run the example on the CPU, with these folders to import from."""
    source = Path(tileops.__file__).parents[1]
    return subprocess.run(
        [sys.executable, str(EXAMPLES / "traced_block.py"), "block.jsonl"],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, [source, *paths])),
            "CUDA_VISIBLE_DEVICES": "",
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(bool(find_spec("tileops_acme")), reason="the template backend is installed")
def test_traced_block_without_its_backend_says_so_in_a_line(tmp_path):
    """On a machine without a GPU it needs the template backend, and says how to have it."""
    done = run_traced_block(tmp_path)

    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "run this with PYTHONPATH=docs/examples/tileops_acme/src" in line
    assert list(tmp_path.iterdir()) == []


def test_traced_block_on_a_cpu(tmp_path):
    """Its recording holds every call of its norms: 4 batches, 2 blocks with 2 norms, 1 before."""
    done = run_traced_block(tmp_path, ACME)

    assert done.returncode == 0, done.stderr
    recording = read_recording(tmp_path / "block.jsonl")
    (op,) = summarise(recording)
    assert (op.op, op.calls) == ("LayerNormFwdOp", 4 * (1 + 2 * 2))
    assert [(row.served_by, row.calls) for row in op.keys] == [("acme_layer_norm_short_rows", 20)]
    assert {one.record.facts["n"] for one in recording.calls} == {64}
