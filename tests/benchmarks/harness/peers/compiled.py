"""The peer that torch.compile makes of a composition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

__all__ = ["MODE", "compiled", "tuning_turn_by_turn"]

MODE = "max-autotune-no-cudagraphs"


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function afresh for the shapes that it will be called with.

    Every case gets its own compilation: torch keeps at most eight per code object, and from the
    ninth on would run the function uncompiled without a word.
    """
    torch.compiler.reset()
    done: Callable[..., Any] = torch.compile(function, mode=MODE, dynamic=False, fullgraph=True)
    return done


@contextmanager
def tuning_turn_by_turn(lock: Any) -> Iterator[bool]:
    """Let one process at a time choose among a kernel's configurations by timing them.

    Processes that compile in parallel share the board, and a choice made on a busy board would be
    a worse one.

    Args:
        lock: A lock shared by the processes.

    Yields:
        Whether this release of torch has the place where it chooses.
    """
    try:
        from torch._inductor.runtime import triton_heuristics
    except ImportError:
        yield False
        return
    tuner: Any = getattr(triton_heuristics, "CachingAutotuner", None)
    original = getattr(tuner, "bench", None)
    if original is None:
        yield False
        return

    def in_turn(*arguments: Any, **keywords: Any) -> Any:
        with lock:
            torch.cuda.synchronize()
            return original(*arguments, **keywords)

    tuner.bench = in_turn
    try:
        yield True
    finally:
        tuner.bench = original
