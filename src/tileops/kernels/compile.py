"""Compiling TileLang programs: a bare function for the device at hand, a report for any other one.

TileLang is imported by the calls, never with this module.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tileops.errors import MissingCompilerError, ProgramCompileError

__all__ = ["OWN_BARRIERS", "Lowered", "bare_function", "cache_folder", "lower", "nvcc"]

# For programs that place their own barriers: TileLang's would add one for every reuse of shared
# memory it cannot tell apart, and its bounds checks cost registers where accesses are guarded.
OWN_BARRIERS = MappingProxyType(
    {"tl.disable_thread_storage_sync": True, "tl.disable_safe_memory_legalize": True}
)


@dataclass(frozen=True)
class Lowered:
    """What a program became for one architecture.

    Attributes:
        source: The CUDA source of its kernel.
        cubin: The machine code.
        registers: Registers of a thread.
        spilled: Bytes of a thread's registers that are stored to memory and loaded back.
        shared: Bytes of shared memory of a block.
    """

    source: str
    cubin: bytes
    registers: int
    spilled: int
    shared: int


def bare_function(
    program: Any, arch: int, passes: Mapping[str, Any] = MappingProxyType({})
) -> Callable[..., None]:
    """Compile *program* for *arch* and return the function that launches it.

    The function takes the program's arguments and launches on the current stream of its first
    tensor's device. It skips TileLang's wrappers, which cost more than a launch.

    Args:
        program: A TileLang function named ``main``.
        arch: The architecture, as 90.
        passes: Options of TileLang's passes, by their names.
    """
    # TileLang announces every compilation on stderr unless told otherwise.
    os.environ.setdefault("TILELANG_PRINT_ON_COMPILATION", "0")
    import tilelang

    logging.getLogger("tilelang.cache.kernel_cache").addFilter(_no_sharing)
    kernel = tilelang.compile(program, target=_target(arch), pass_configs=dict(passes))
    executable = kernel.adapter._get_executable()
    # An executable that was just built must be linked; one from TileLang's cache is a module.
    module = executable.jit() if callable(getattr(type(executable), "jit", None)) else executable
    launch: Callable[..., None] = module["main"]
    return launch


def lower(program: Any, arch: int, passes: Mapping[str, Any] = MappingProxyType({})) -> Lowered:
    """Compile *program* for *arch* with nvcc; no device is needed.

    Args:
        program: A TileLang function named ``main``.
        arch: The architecture, as 90.
        passes: Options of TileLang's passes, by their names.

    Raises:
        MissingCompilerError: nvcc is not installed.
        ProgramCompileError: nvcc refuses the source.
    """
    compiler = nvcc()
    if compiler is None:
        raise MissingCompilerError(arch=arch)
    import tilelang
    from tilelang import tvm

    target = tvm.target.Target(_target(arch))
    with tvm.transform.PassContext(opt_level=3, config=dict(passes)), target:
        artifact = tilelang.lower(program, target=target, enable_device_compile=False)
    (kernel,) = artifact.device_mod.functions.values()
    shared = int(kernel.attrs.get("dyn_shared_memory_buf", 0))
    includes = Path(tilelang.__file__).parent
    cubin, report = _assemble(artifact.kernel_source, arch, compiler, includes)
    return Lowered(
        source=artifact.kernel_source,
        cubin=cubin,
        registers=_figure(r"Used (\d+) registers", report),
        spilled=_figure(r"(\d+) bytes spill stores", report),
        shared=shared + _figure(r"(\d+) bytes smem", report),
    )


def cache_folder() -> Path:
    """Return where TileLang keeps compiled programs."""
    return Path(os.environ.get("TILELANG_CACHE_DIR") or Path.home() / ".tilelang" / "cache")


def nvcc() -> str | None:
    """Return where nvcc is, or None where it is not installed."""
    return shutil.which("nvcc")


def _no_sharing(record: logging.LogRecord) -> bool:
    # Two ops that ask for one program get one; TileLang warns of that as if it were a mistake.
    return "in memory cache" not in str(record.msg)


def _target(arch: int) -> dict[str, str]:
    # The suffix admits the instructions that only this architecture has.
    return {"kind": "cuda", "arch": f"sm_{arch}a" if arch == 90 else f"sm_{arch}"}


def _assemble(source: str, arch: int, compiler: str, tilelang: Path) -> tuple[bytes, str]:
    real = _target(arch)["arch"]
    code = f"arch={real.replace('sm', 'compute')},code={real}"
    includes = [f"-I{tilelang / 'src'}", f"-I{tilelang / '3rdparty/cutlass/include'}"]
    with tempfile.TemporaryDirectory() as folder:
        text, binary = Path(folder, "kernel.cu"), Path(folder, "kernel.cubin")
        text.write_text(source)
        flags = ["-std=c++17", "-O3", "-w", "-DENABLE_BF16", "-Xptxas", "-v", "-gencode", code]
        command = [compiler, "-cubin", *flags, *includes, str(text), "-o", str(binary)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ProgramCompileError(arch=arch, log=done.stderr)
        return binary.read_bytes(), done.stderr


def _figure(pattern: str, report: str) -> int:
    found = re.search(pattern, report)
    return int(found[1]) if found else 0
