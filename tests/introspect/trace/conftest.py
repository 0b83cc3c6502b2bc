"""Recordings made here or by programs, read back as plain values."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import tileops

SOURCE = Path(tileops.__file__).parents[1]
ACME = Path(__file__).parents[3] / "docs" / "examples" / "tileops_acme" / "src"


def lines_of(folder):
    """Return every line of every file of a folder as plain values, by file name."""
    return {
        file.name: [json.loads(line) for line in file.read_text().splitlines()]
        for file in sorted(folder.iterdir())
    }


def calls_of(folder):
    """Return the records of a folder's only file."""
    ((header, *records),) = lines_of(folder).values()
    assert header["kind"] == "header"
    return records


@pytest.fixture
def folder(tmp_path):
    """A folder for one recording."""
    there = tmp_path / "recorded"
    there.mkdir()
    return there


@pytest.fixture
def program(tmp_path, folder):
    """Start Python programs that record into the folder; stop what is left of them."""
    started = []

    def start(code, *arguments, **variables):
        script = tmp_path / "program.py"
        script.write_text("import torch, tileops_acme\nfrom tileops import LayerNormFwdOp\n" + code)
        done = subprocess.Popen(
            [sys.executable, str(script), *arguments],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(SOURCE), str(ACME)]),
                "CUDA_VISIBLE_DEVICES": "",
                # torch's own threads do not survive a fork.
                "OMP_NUM_THREADS": "1",
                "TILEOPS_TRACE": str(folder / "t.jsonl"),
                **variables,
            },
        )
        started.append(done)
        return done

    yield start
    for one in started:
        # Its children hold its pipes open: they go with it.
        with suppress(ProcessLookupError):
            os.killpg(one.pid, signal.SIGKILL)
        one.communicate()


def finished(process, code=0):
    """Wait for a program, check how it ends, and return what it printed."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    return out, err
