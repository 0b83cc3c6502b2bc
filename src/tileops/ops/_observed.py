"""Finding what serves a first call, and telling the observers of it where there are any."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tileops.ops._observers import Specialisation, counted, notify, observed
from tileops.ops._plan import Run
from tileops.selection import Selection

if TYPE_CHECKING:
    from tileops.ops.op import Op

__all__ = ["serve_observed"]

Served = tuple[Run, str]
"""What calls of a kind run, and where it comes from."""


def serve_observed(
    op: Op,
    target: str | None,
    inputs: tuple[Any, ...],
    serve: Callable[[], Served],
    *,
    empty: bool = False,
) -> Served:
    """Return what *serve* returns, its calls counted where an observer asks for that.

    Args:
        op: The op that is called.
        target: The target that serves it, or None for the in-tree kernels.
        inputs: The inputs of the call.
        serve: Finds or builds what serves the call.
        empty: Whether the call writes no element.
    """
    if not observed():
        return serve()
    begin = time.perf_counter()

    def told(error: Exception | None) -> Specialisation:
        seconds = time.perf_counter() - begin
        selections = () if empty or target is not None else _selections(op, inputs)
        kind = type(op)
        return Specialisation(
            kind.__name__, kind.__module__, target, selections, seconds, error, empty
        )

    try:
        run, source = serve()
    except Exception as error:
        notify(told(error))
        raise
    return counted(run, notify(told(None))), source


def _selections(op: Op, inputs: tuple[Any, ...]) -> tuple[Selection, ...]:
    try:
        return tuple(op.explain(interface, spec) for interface, spec in op.requests(*inputs))
    except Exception:
        # The call itself has failed on this, or will: that error reaches the caller, not this one.
        return ()
