"""What the emulator needs of the machine: g++, CUDA's and TileLang's headers."""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from .errors import CompilationError

__all__ = ["FLAGS", "HERE", "cuda", "gxx", "include_paths", "missing", "tilelang"]

HERE = Path(__file__).resolve().parent

# Kernels read memory as whatever type suits them, and integers wrap around.
FLAGS = (
    "-std=c++17",
    "-w",
    "-march=native",
    "-fPIC",
    "-g1",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-fno-stack-protector",
)


def missing() -> str | None:
    """Return what this machine lacks for the emulator, or None."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "the emulator runs on Linux on x86-64"
    if "f16c" not in Path("/proc/cpuinfo").read_text():
        return "the processor converts no 16-bit floats (F16C)"
    if shutil.which("g++") is None:
        return "g++ is not installed"
    if cuda() is None:
        return "CUDA's headers are not installed (nvcc is not on the path, CUDA_HOME is not set)"
    if importlib.util.find_spec("tilelang") is None:
        return "tilelang is not installed"
    return None


@functools.cache
def cuda() -> Path | None:
    """Return the folder of the CUDA toolkit, or None."""
    named = os.environ.get("CUDA_HOME")
    folders = [Path(named)] if named else []
    if shutil.which("nvcc"):
        # The nvcc on the path may be a script that calls the real one, which says where it is.
        command = ["nvcc", "--dryrun", "-c", "absent.cu"]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
        folders += [Path(one).resolve() for one in re.findall(r"TOP=(.*)", said)]
    return next((one for one in folders if (one / "include/cuda_fp4.h").exists()), None)


def tilelang() -> Path:
    """Return the folder of the installed TileLang."""
    found = importlib.util.find_spec("tilelang")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def include_paths() -> list[str]:
    """Return g++'s options for the headers; the emulator's own stand in for CUDA's runtime."""
    toolkit = cuda()
    return [
        f"-I{HERE}/include",
        f"-I{tilelang()}/src",
        f"-I{tilelang()}/3rdparty/cutlass/include",
        f"-I{toolkit}/include",
        f"-I{toolkit}/include/cccl",
    ]


def gxx(stage: str, arguments: Iterable[object]) -> None:
    """Run g++.

    Raises:
        CompilationError: It refuses what it is given, which *stage* names.
    """
    command = ["g++", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompilationError(stage, done.stderr)
