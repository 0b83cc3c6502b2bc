"""The library of the emulated device: threads, barriers, copies, matrix products, race detector."""

from __future__ import annotations

import ctypes
import functools
import os

from .cache import CACHE, digest, locked
from .toolchain import FLAGS, HERE, cuda, gxx

__all__ = ["runtime"]

# Sums may not be reordered, and NaN is what unwritten memory holds.
_FAST = ("-O3", "-ffast-math", "-fno-finite-math-only", "-fno-associative-math")


@functools.cache
def runtime() -> ctypes.CDLL:
    """Return the library, built if need be."""
    sources = sorted([*(HERE / "runtime").iterdir(), *(HERE / "include").iterdir()])
    name = "runtime-" + digest(*(one.read_bytes() for one in sources), cuda(), *FLAGS, *_FAST)
    library = CACHE / f"{name}.so"
    with locked(name):
        if not library.exists():
            made = CACHE / f"{name}.{os.getpid()}.part"
            folders = (f"-I{HERE}/include", f"-I{cuda()}/include")
            source = HERE / "runtime" / "runtime.cpp"
            gxx("runtime", [*FLAGS, *_FAST, "-shared", *folders, source, "-o", made])
            made.rename(library)
    # Kernels find the runtime's functions by their names.
    loaded = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    loaded.emu_launch.restype = ctypes.c_char_p
    return loaded
