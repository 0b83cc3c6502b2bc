"""Precompiled headers: CUDA's and TileLang's as they are, their inline PTX translated."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from os import getpid, readlink
from pathlib import Path

from . import ptx
from .cache import CACHE, digest, locked
from .toolchain import FLAGS, HERE, cuda, gxx, include_paths, tilelang

__all__ = ["precompiled", "usual"]

# All that generated sources include: one precompiled header serves every kernel of an architecture.
_CUDA = ("math_constants.h",)
_TILELANG = (
    "instruction/mma.h",
    "instruction/wgmma.h",
    "intrin.h",
    "barrier.h",
    "copy.h",
    "copy_sm90.h",
    "cluster.h",
    "atomic.h",
    "math.h",
    "cuda_fp8.h",
    "reduce.h",
    "scan.h",
    "ldsm.h",
    "threadblock_swizzle.h",
    "debug.h",
    "cuda_bf16_fallbacks.cuh",
)
_SINCE = {"instruction/wgmma.h": 90, "copy_sm90.h": 90, "cluster.h": 90, "cuda_fp8.h": 89}


def usual(arch: int) -> list[str]:
    """Return the include directives that the precompiled header of *arch* stands for."""
    templates = [one for one in _TILELANG if arch >= _SINCE.get(one, 0)]
    names = [*_CUDA, *(f"tl_templates/cuda/{one}" for one in templates)]
    return [f"#include <{one}>" for one in names]


def precompiled(arch: int, flags: Sequence[str]) -> Path:
    """Return the folder of the precompiled header ``prefix.h``, built if need be.

    Args:
        arch: The architecture, as 90.
        flags: g++'s options for the kernel, besides the usual ones.
    """
    text = "\n".join(['#include "cuda_runtime.h"', *_defines(arch), *usual(arch), ""])
    sources = sorted([*(HERE / "include").iterdir(), *(HERE / "ptx").glob("*.py")])
    contents = (one.read_bytes() for one in sources)
    name = f"prefix{arch}-" + digest(text, *contents, cuda(), tilelang(), *FLAGS, *flags)
    link = CACHE / name
    with locked(name):
        if not (link / "prefix.h.gch").exists():
            _build(arch, text, flags, link)
    return CACHE / readlink(link)


def _build(arch: int, text: str, flags: Sequence[str], link: Path) -> None:
    work = CACHE / f"{link.name}.{getpid()}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "in.cpp").write_text(text)
    options = [*FLAGS, *flags]
    gxx("headers", [*FLAGS, "-E", "-dD", *include_paths(), work / "in.cpp", "-o", work / "in.ii"])
    translated = _translated((work / "in.ii").read_text())
    # Named after what it holds, so that a change of the translator that changes nothing is free.
    folder = CACHE / (f"headers{arch}-" + digest(translated, *options))
    if not (folder / "prefix.h.gch").exists():
        header = work / "prefix.h"
        header.write_text(translated)
        gxx("headers", [*options, "-x", "c++-header", header, "-o", work / "prefix.h.gch"])
        (work / "in.ii").unlink()
        with contextlib.suppress(OSError):
            work.rename(folder)
    shutil.rmtree(work, ignore_errors=True)
    with contextlib.suppress(FileExistsError):
        link.symlink_to(folder.name)


def _translated(text: str) -> str:
    def device_code(file: str) -> bool:
        return any(part in file for part in ("tilelang", "cuda_fp", "cuda_bf16"))

    text = ptx.rewrite(text, device_code, markers=True)
    # A kernel that polls memory has to let the others go on.
    return text.replace("return aref.load(", "::emu::poll_(); return aref.load(")


def _defines(arch: int) -> list[str]:
    """What nvcc defines, and what keeps TileLang's headers to inline PTX."""
    values = {
        "__CUDA_ARCH__": arch * 10,
        "__CUDA_ARCH_LIST__": arch * 10,
        "__CUDACC_VER_MAJOR__": 13,
        "__CUDACC_VER_MINOR__": 0,
        "ENABLE_BF16": 1,
        "__CUDA_NO_PTX_RED__": 1,
    }
    if arch == 90:
        values |= {"__CUDA_ARCH_FEAT_SM90_ALL": 1, "__CUDA_ARCH_SPECIFIC__": 900}
    return [f"#define {name} {value}" for name, value in values.items()]
