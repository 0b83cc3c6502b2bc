"""Saying of what a build raises which op, key and build it was."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb

import torch

from tileops.errors import CompileCacheError, KernelCompileError, ProgramCompileError
from tileops.errors.wording import shown, told
from tileops.kernels.compile import cache_folder
from tileops.kernels.kernel import Kernel

__all__ = ["naming"]

COMPILERS = frozenset({"tilelang", "tvm", "tvm_ffi"})
"""The packages whose exceptions say that a program does not compile."""


@contextmanager
def naming(
    op: str, key: str, kernel_type: type[Kernel], device: torch.device | None, identity: Hashable
) -> Iterator[None]:
    """Name the build that runs inside when it fails.

    Raises:
        CompileCacheError: In place of what was raised where TileLang cannot keep programs.
        KernelCompileError: In place of what else was raised inside TileLang, which is its cause.
        Exception: Anything else as it is, with a note.
    """
    try:
        yield
    except Exception as error:
        if not _of_compiler(error):
            _note(
                error, f"{op}: building key {key!r} for {device}, build identity {shown(identity)}"
            )
            raise
        facts = {
            "op": op,
            "key": key,
            "implementation": kernel_type.__qualname__,
            "device": device,
            "identity": shown(identity),
            "problem": _brief(error),
        }
        if _of_cache(error):
            raise CompileCacheError(**facts, folder=cache_folder()) from error
        raise KernelCompileError(**facts) from error


def _of_compiler(error: Exception) -> bool:
    if isinstance(error, ProgramCompileError):
        return True
    names = (frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__))
    return any(name.partition(".")[0] in COMPILERS for name in names)


def _of_cache(error: Exception) -> bool:
    """Whether a file of TileLang's cache, or a folder that it lies in, cannot be had."""
    if not isinstance(error, OSError) or not isinstance(error.filename, str):
        return False
    path, folder = Path(error.filename), cache_folder()
    return path.is_relative_to(folder) or folder.is_relative_to(path)


def _note(error: Exception, text: str) -> None:
    # A factory may raise the same object every time.
    if text not in getattr(error, "__notes__", ()):
        error.add_note(text)


def _brief(error: Exception) -> str:
    """Return the kind of an exception and its first line; the rest is in the cause."""
    kind, _, message = told(error).partition(":")
    first = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return f"{kind}: {first}" if first else kind
