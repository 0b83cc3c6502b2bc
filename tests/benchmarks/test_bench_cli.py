"""The command line of the harness: questions, answers and exit codes without a GPU."""

from __future__ import annotations

import json

import pytest
from harness.cli import app
from harness.store import write
from samples import results, row
from typer.testing import CliRunner

ASK = CliRunner()


def test_cases_are_listed_without_a_gpu():
    """One line a case, with its traffic."""
    done = ASK.invoke(app, ["list", "norm", "--only", "LayerNormFwdOp/hidden-4096-tokens-32768"])
    assert done.exit_code == 0
    assert done.stdout == ("LayerNormFwdOp/hidden-4096-tokens-32768  536.887 MB  1.074 GFLOP\n")


@pytest.mark.parametrize(
    ("us", "code", "said"),
    [pytest.param(100.0, 0, "1.000", id="same"), pytest.param(120.0, 1, "slower", id="slower")],
)
def test_a_slower_workload_is_exit_code_1(tmp_path, us, code, said):
    """--compare prints the ratio, and answers no when something became worse."""
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    write(results(row("w")), old)
    write(results(row("w", us)), new)
    done = ASK.invoke(app, ["--compare", str(old), str(new), "--threshold", "0.1"])
    assert done.exit_code == code
    assert said in done.stdout
    assert "LayerNormFwdOp/w" in done.stdout


@pytest.mark.parametrize("threshold", ["nan", "inf"])
def test_a_threshold_that_nothing_exceeds_is_refused(tmp_path, threshold):
    """With it every run would pass."""
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    write(results(row("w")), old)
    write(results(row("w", 900.0)), new)
    done = ASK.invoke(app, ["--compare", str(old), str(new), "--threshold", threshold])
    assert done.exit_code == 2
    assert "takes a finite number" in done.stderr


def test_the_schema_is_printed():
    """It is JSON and names itself."""
    done = ASK.invoke(app, ["schema"])
    assert json.loads(done.stdout)["$id"] == "tileops.benchmark/2.0"


def test_a_run_without_a_gpu_is_said(monkeypatch):
    """Exit code 2: there is nothing to time on."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    done = ASK.invoke(app, ["run", "norm"])
    assert done.exit_code == 2
    assert "no CUDA device" in done.stderr
