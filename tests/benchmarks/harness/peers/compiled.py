"""The peer that torch.compile makes of a composition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

__all__ = ["COMPILED", "MODE", "NoPlaceToWaitError", "compiled", "tuning_turn_by_turn"]

COMPILED = "compile"
"""The name of the peer."""

MODE = "max-autotune-no-cudagraphs"


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function afresh for the shapes that it will be called with.

    Every case gets its own compilation: torch keeps at most eight per code object, and from the
    ninth on would run the function uncompiled without a word.
    """
    torch.compiler.reset()
    done: Callable[..., Any] = torch.compile(function, mode=MODE, dynamic=False, fullgraph=True)
    return done


class NoPlaceToWaitError(LookupError):
    """This release of torch chooses among configurations in a place unknown to the harness.

    Attributes:
        missing: The place looked for.
    """

    def __init__(self, missing: str) -> None:
        self.missing = missing
        super().__init__(
            f"torch {torch.__version__} has no {missing}, where a process would wait for its turn "
            "to choose; the peer is compiled as its case runs"
        )


@contextmanager
def tuning_turn_by_turn(lock: Any) -> Iterator[None]:
    """Let one process at a time choose among a kernel's configurations by timing them.

    Processes that compile in parallel share the board, and a choice made on a busy board would be
    a worse one.

    Args:
        lock: A lock shared by the processes, which its holder may take again.

    Raises:
        NoPlaceToWaitError: The place where torch chooses is unknown.
    """
    from torch._inductor import select_algorithm
    from torch._inductor.runtime import triton_heuristics

    places: list[tuple[Any, str]] = [
        (triton_heuristics.CachingAutotuner, "bench"),
        (select_algorithm.AlgorithmSelectorCache, "benchmark_in_current_process"),
    ]
    for owner, name in places:
        if name not in vars(owner):
            raise NoPlaceToWaitError(f"{owner.__name__}.{name}")
    originals = [(owner, name, vars(owner)[name]) for owner, name in places]
    for owner, name, original in originals:
        setattr(owner, name, _in_turn(original, lock))
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def _in_turn(original: Any, lock: Any) -> Any:
    """Return a method, or a class method, that holds *lock* while it runs."""
    function = getattr(original, "__func__", original)

    def run(*arguments: Any, **keywords: Any) -> Any:
        with lock:
            torch.cuda.synchronize()
            return function(*arguments, **keywords)

    return classmethod(run) if isinstance(original, classmethod) else run
