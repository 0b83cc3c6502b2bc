"""Telling others of every specialisation, and counting its calls, while somebody listens.

Nobody listens by default, and then no call costs anything. Listening begins and ends with every
op forgetting its plans, so the next call of each kind takes the slow path once and is told of.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tileops.selection import Selection

if TYPE_CHECKING:
    from tileops.ops.op import Op

__all__ = [
    "Cell",
    "Specialisation",
    "counted",
    "forget_all_plans",
    "join",
    "notify",
    "observed",
    "subscribe",
]

FROM_ENVIRONMENT = {
    "TILEOPS_TRACE": "tileops.introspect.trace",
    "TILEOPS_WARN": "tileops.introspect.fallback",
}
"""The module whose ``start()`` runs before the first op when an environment variable is set."""


@dataclass(slots=True)
class Cell:
    """The number of calls of one specialisation.

    Adding to it is one step of the interpreter as long as there is a global lock.
    """

    calls: int = 0


@dataclass(frozen=True)
class Specialisation:
    """The first call of a kind.

    Attributes:
        op: The op's class name.
        module: The module of the op's class.
        target: The target that serves it, or None for the in-tree kernels.
        selections: The decision on every kernel request; none under a target.
        seconds: How long finding or building the kernels took.
        error: What the call raised, if it failed.
        cell: Counts the calls of this kind, this one included.
    """

    op: str
    module: str
    target: str | None
    selections: tuple[Selection, ...]
    seconds: float
    error: Exception | None = None
    cell: Cell = field(default_factory=Cell, compare=False)


Observer = Callable[[Specialisation], None]

_observers: tuple[Observer, ...] = ()
_ops: weakref.WeakSet[Op] = weakref.WeakSet()
_lock = threading.Lock()
_environment_read = False


def subscribe(observer: Observer) -> Callable[[], None]:
    """Tell *observer* of every specialisation from now on; return a function that ends it."""
    global _observers
    with _lock:
        _observers = (*_observers, observer)
    forget_all_plans()

    def end() -> None:
        global _observers
        with _lock:
            _observers = tuple(one for one in _observers if one is not observer)
        forget_all_plans()

    return end


def observed() -> bool:
    """Whether anybody listens."""
    return bool(_observers)


def notify(specialisation: Specialisation) -> None:
    """Tell every observer, in the order they subscribed."""
    for observer in _observers:
        observer(specialisation)


def counted(run: Callable[..., Any], cell: Cell) -> Callable[..., Any]:
    """Return *run*, counting its calls."""

    def run_and_count(*inputs: Any, **keywords: Any) -> Any:
        cell.calls += 1
        return run(*inputs, **keywords)

    return run_and_count


def join(op: Op) -> None:
    """Let an op be told to forget its plans; start what the environment asks for first."""
    _read_environment()
    _ops.add(op)


def forget_all_plans() -> None:
    """Let the next call of every kind take the slow path again, in every op there is."""
    for op in list(_ops):
        op.forget_plans()


def _read_environment() -> None:
    global _environment_read
    if _environment_read:
        return
    with _lock:
        due = not _environment_read
        _environment_read = True
    if due:
        for variable, module in FROM_ENVIRONMENT.items():
            if os.environ.get(variable):
                # Whoever listens lies above the ops, which therefore cannot import it by statement.
                import_module(module).start(os.environ[variable])
