"""The example of a traced transformer."""

import os
import subprocess
import sys
from pathlib import Path

import tileops
from tileops.introspect.trace import read_recording, summarise

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def test_traced_block_on_a_cpu(tmp_path):
    """Its recording holds every call of its norms: 4 batches, 2 blocks with 2 norms, 1 before."""
    source = Path(tileops.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "traced_block.py"), "block.jsonl"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, [source, EXAMPLES / "tileops_acme" / "src"])),
            "CUDA_VISIBLE_DEVICES": "",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    recording = read_recording(tmp_path / "block.jsonl")
    (op,) = summarise(recording)
    assert (op.op, op.calls) == ("LayerNormFwdOp", 4 * (1 + 2 * 2))
    assert [(row.served_by, row.calls) for row in op.keys] == [("acme_layer_norm_short_rows", 20)]
    assert {one.record.facts["n"] for one in recording.calls} == {64}
