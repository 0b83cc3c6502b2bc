"""TileLang's cache of compiled programs on disk: what one process compiled, no other compiles."""

import subprocess
import sys
from pathlib import Path

import pytest

from tileops.kernels.compile import nvcc

pytestmark = pytest.mark.skipif(nvcc() is None, reason="compiling needs nvcc")

BUILD = """
import sys

compilers = []


def note(event, arguments):
    if event == "subprocess.Popen" and "nvcc" in str(arguments[1][0]):
        compilers.append(arguments[1][0])


sys.addaudithook(note)

import tilelang.language as T

from tileops.kernels.compile import bare_function


@T.prim_func
def main(x: T.Tensor((1024,), "float32"), y: T.Tensor((1024,), "float32")):
    with T.Kernel(8, threads=128) as block:
        for i in T.Parallel(128):
            y[block * 128 + i] = x[block * 128 + i] * 2.0


launch = bare_function(main, 90)
assert callable(launch)
print(len(compilers))
"""


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Start a process that compiles a program with a cache of this test's own."""
    monkeypatch.setenv("TILELANG_CACHE_DIR", str(tmp_path / "cache"))
    # TileLang reads a program's source from its file.
    script = tmp_path / "build.py"
    script.write_text(BUILD)
    source = Path(__file__).parents[2] / "src"
    monkeypatch.setenv("PYTHONPATH", str(source))
    command = [sys.executable, str(script)]
    return lambda: subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def compilations(process):
    """Wait for a process and return how often it ran nvcc."""
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return int(out.splitlines()[-1])


def test_a_later_process_compiles_nothing(build):
    """Two processes compile at once into an empty cache; both work, and a third only reads."""
    together = [build(), build()]
    assert 1 <= sum(map(compilations, together)) <= 2
    assert compilations(build()) == 0
