"""TileLang's cache of compiled programs on disk: what one process compiled, no other compiles."""

import os
import shutil
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


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The program; TileLang reads its source from the file, which is part of what it is kept by."""
    script = tmp_path_factory.mktemp("program") / "build.py"
    script.write_text(BUILD)
    return script


def build(script, cache):
    """Start a process that compiles the program with a cache of its own."""
    source = Path(__file__).parents[2] / "src"
    environment = {**os.environ, "TILELANG_CACHE_DIR": str(cache), "PYTHONPATH": str(source)}
    return subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def finished(process):
    """Wait for a process; return how often it ran nvcc, and what it said besides."""
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    *said, count = out.splitlines()
    # TileLang's own log goes to stdout.
    return int(count), "\n".join([*said, *errors.splitlines()])


def compilations(process):
    return finished(process)[0]


@pytest.fixture(scope="module")
def filled(script, tmp_path_factory):
    """A cache that two processes filled at once, and how often they compiled."""
    cache = tmp_path_factory.mktemp("cache")
    together = [build(script, cache), build(script, cache)]
    return cache, sum(map(compilations, together))


def test_a_later_process_compiles_nothing(script, filled):
    """Two processes compile at once into an empty cache; both work, and a third only reads."""
    cache, compiled = filled
    assert 1 <= compiled <= 2
    assert finished(build(script, cache)) == (0, "")


def truncated(file):
    file.write_bytes(file.read_bytes()[:-1000])


def altered(file):
    file.write_bytes(bytes(one ^ 255 for one in file.read_bytes()))


@pytest.mark.parametrize(
    ("names", "spoil", "told"),
    [
        pytest.param(["executable.so", "kernel.cubin"], truncated, True, id="truncated"),
        pytest.param(
            ["executable.so", "kernel.cubin"],
            Path.unlink,
            False,
            id="unfinished",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ["executable.so", "kernel.cubin"], altered, True, id="altered", marks=pytest.mark.slow
        ),
        pytest.param(
            ["manifest.json", "metadata.json"],
            altered,
            True,
            id="unreadable",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_damaged_entry_is_compiled_again(script, filled, tmp_path, names, spoil, told):
    """It is replaced, with a warning where it was not merely left unfinished, and then read."""
    cache = shutil.copytree(filled[0], tmp_path / "cache")
    for name in names:
        (file,) = cache.rglob(name)
        spoil(file)
    compiled, said = finished(build(script, cache))
    assert compiled == 1
    assert ("failed integrity verification" in said) is told
    assert finished(build(script, cache)) == (0, "")
