"""On a CUDA device: the clock agrees with events over many launches, and a run times a workload."""

from __future__ import annotations

import os

import pytest
import torch
from harness.cli import app
from harness.clock import Launch
from harness.machine import CudaMachine
from harness.store import read
from harness.timing import QUICK, measure_one
from typer.testing import CliRunner

pytestmark = pytest.mark.gpu


@pytest.mark.skipif("PYTEST_XDIST_WORKER" in os.environ, reason="needs the device for itself")
def test_a_copy_takes_its_bytes_over_the_bandwidth():
    """A gibibyte negated in a graph takes as long as one negated between two events."""
    machine = CudaMachine(torch.device("cuda", 0))
    source = torch.randn(2**28, device="cuda")
    target = torch.empty_like(source)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.neg(source, out=target)
    start.record()
    for _ in range(20):
        torch.neg(source, out=target)
    end.record()
    end.synchronize()
    with machine.clock() as clock:
        timing = measure_one(clock, Launch(lambda i: torch.neg(source, out=target), 1), QUICK)
    assert timing.median_us == pytest.approx(1e3 * start.elapsed_time(end) / 20, rel=0.1)


def test_a_small_launch_is_timed_below_the_floor_of_a_replay():
    """One element takes less than the 5 us that a replay costs."""
    machine = CudaMachine(torch.device("cuda", 0))
    sets = [torch.zeros(1, device="cuda") for _ in range(64)]
    with machine.clock() as clock:
        timing = measure_one(clock, Launch(lambda i: sets[i] + 1, 64), QUICK)
    assert 0.5 < timing.median_us < 4.5


def test_a_run_times_the_selected_kernel(tmp_path):
    """A quick run writes a row with its key, a fraction and torch as a peer that agrees."""
    path = tmp_path / "results.json"
    command = ["run", "LayerNormFwdOp", "--only", "hidden-4096-tokens-2048", "--quick"]
    done = CliRunner().invoke(
        app, [*command, "--peers", "torch", "--jobs", "0", "--out", str(path)]
    )
    assert done.exit_code == 0, done.output
    (row,) = read(path).rows
    assert row.keys["layer_norm"].startswith("layer_norm")
    assert 0.1 < row.fraction < 1.2
    assert [one.status for one in row.peers] == ["timed"]


def test_a_run_compiles_ahead(tmp_path):
    """Workers compile our kernel and the compiled peer, which is timed after every case."""
    path = tmp_path / "results.json"
    command = ["run", "LayerNormFwdOp", "--only", "hidden-4096-tokens-2048", "--quick"]
    asked = ["--peers", "torch,compile", "--jobs", "2", "--budget", "500", "--out", str(path)]
    done = CliRunner().invoke(app, [*command, *asked])
    assert done.exit_code == 0, done.output
    assert "compiled 2 of 2 ahead" in done.output
    assert "did not compile" not in done.output
    (row,) = read(path).rows
    assert [(one.name, one.status) for one in row.peers] == [
        ("torch", "timed"),
        ("compile", "timed"),
    ]
    (host,) = read(path).hosts
    assert host.launches == 1
    assert {"op", "bare", "empty_like", "torch", "compile"} == set(host.us)


def test_a_run_of_host_times_alone(tmp_path):
    """What our call takes beyond its parts is known, and that of a new size, which takes longer."""
    path = tmp_path / "results.json"
    command = ["run", "LayerNormFwdOp", "--hosts-only", "--jobs", "0", "--out", str(path)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    (host,) = read(path).hosts
    assert {"op", "bare", "empty_like", "torch"} <= set(host.us)
    assert "compile" not in host.us
    assert 0 < host.over < host.us["op"] < host.new_size
    assert read(path).rows == ()
