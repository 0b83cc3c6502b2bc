"""A shared object of kernels for the CPU, made of CUDA source."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from .cache import CACHE, digest, locked
from .cuda_source import MARK, bytes_told_apart, entries, translated
from .headers import precompiled, usual
from .runtime_library import runtime
from .toolchain import FLAGS, gxx, include_paths

__all__ = ["Module", "build"]

# The runtime stands in for the sanitizer: it is told of every access.
_WATCHED = (
    "-fsanitize=thread",
    "--param=tsan-instrument-func-entry-exit=0",
    "--param=tsan-distinguish-volatile=1",
)


class Module:
    """Compiled kernels.

    Attributes:
        path: The shared object; its source lies beside it.
        granularity: Bytes that the race detector takes for one place; 0 where it is off.
        entries: The kernels' entries by their names.
    """

    def __init__(self, path: Path, names: Sequence[str], granularity: int) -> None:
        self.path = path
        self.granularity = granularity
        self._library = ctypes.CDLL(str(path), mode=ctypes.RTLD_LOCAL)
        functions = {one: getattr(self._library, f"emu_entry_{one}") for one in names}
        self.entries = {one: ctypes.cast(f, ctypes.c_void_p) for one, f in functions.items()}

    @cached_property
    def _sizes(self) -> dict[str, int]:
        command = ["nm", "-S", "--defined-only", str(self.path)]
        listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        rows = [line.split() for line in listed.splitlines()]
        return {row[3]: int(row[1], 16) for row in rows if len(row) == 4}

    def function_range(self, name: str) -> tuple[int, int]:
        """Return where the code of a kernel begins and ends."""
        at = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value or 0
        return at, at + self._sizes.get(name, 0)

    def text_range(self) -> tuple[int, int]:
        """Return where the shared object is in memory."""
        lines = Path("/proc/self/maps").read_text().splitlines()
        spans = [line.split()[0].split("-") for line in lines if line.endswith(str(self.path))]
        return min(int(low, 16) for low, _ in spans), max(int(high, 16) for _, high in spans)

    def located(self, report: str) -> str:
        """Replace code addresses in a report by lines of the CUDA source."""
        low, high = self.text_range()
        addresses = sorted({int(one, 16) for one in re.findall(r"@(0x[0-9a-f]+)", report)})
        frames = self._frames([one - low - 1 for one in addresses if low <= one < high])
        lines = {offset + low + 1: self._shown(stack) for offset, stack in frames.items()}
        return re.sub(r"@(0x[0-9a-f]+)", lambda one: lines.get(int(one[1], 16), ""), report)

    def _frames(self, offsets: Sequence[int]) -> dict[int, list[str]]:
        """Return file and line of each offset, those of inlined callers after it."""
        if not offsets:
            return {}
        command = ["addr2line", "-i", "-a", "-e", str(self.path), *map(hex, offsets)]
        listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        stacks: dict[int, list[str]] = {}
        for line in listed.splitlines():
            if line.startswith("0x"):
                stack = stacks.setdefault(int(line, 16), [])
            else:
                stack.append(line.split(" ")[0])
        return stacks

    def _shown(self, stack: Sequence[str]) -> str:
        source = self.path.with_suffix(".cu").read_text().split("\n")
        head = self.path.with_suffix(".cpp").read_text().split("\n").index(MARK) + 1
        own = [one for one in stack if one.split(":")[0].endswith(self.path.stem + ".cpp")]
        numbers = [int(re.search(r":(\d+)", one)[1]) - head for one in own]
        numbers = [one for one in numbers if 0 < one <= len(source)]
        if not numbers:
            return stack[0] if stack else ""
        inner, outer = numbers[0], numbers[-1]
        text = f"line {outer}: {source[outer - 1].strip()[:200]}"
        if inner != outer:
            text += f" (through line {inner}: {source[inner - 1].strip()[:100]})"
        return text


def build(source: str, arch: int, names: Sequence[str], race: bool = False) -> Module:
    """Compile CUDA *source* for the CPU.

    Args:
        source: CUDA C++ whose kernels are ``extern "C"``.
        arch: The architecture, as 90.
        names: The kernels' names.
        race: Whether the race detector is told of every access.

    Raises:
        CompilationError: g++ refuses what became of the source.
        UnsupportedSourceError: A declaration of shared memory cannot be read.
    """
    runtime()
    flags = ("-O1", *(_WATCHED if race else ()))
    includes, body = translated(source)
    folder = precompiled(arch, flags)
    known = set(usual(arch))
    more = [one for one in includes if one not in known and "tl_templates" not in one]
    text = "\n".join(['#include "prefix.h"', *more, MARK, body, entries(names)])
    name = "kernel-" + digest(text, folder, *flags)
    library = CACHE / f"{name}.so"
    with locked(name):
        if not library.exists():
            library.with_suffix(".cpp").write_text(text)
            library.with_suffix(".cu").write_text(source)
            paths = [f"-I{folder}", *(include_paths() if more else [])]
            _compile(library, [*FLAGS, *flags, *paths])
    return Module(library, names, bytes_told_apart(source) if race else 0)


def _compile(library: Path, options: Sequence[str]) -> None:
    source, part = library.with_suffix(".cpp"), f"{library.stem}.{os.getpid()}"
    compiled, linked = CACHE / f"{part}.o", CACHE / f"{part}.part"
    gxx(f"kernel {source}", [*options, "-c", source, "-o", compiled])
    # Linked without the options, so that the sanitizer's own library stays out.
    gxx(f"kernel {source}", ["-shared", compiled, "-o", linked])
    compiled.unlink()
    linked.rename(library)
