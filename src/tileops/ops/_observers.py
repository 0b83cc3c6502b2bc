"""Telling others of every specialisation, and counting its calls where they want that.

Nobody listens by default, and then no call costs anything. Listening begins and ends with every
op forgetting its plans, so the next call of each kind takes the slow path once and is told of.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tileops.errors.wording import shown
from tileops.selection import Selection

if TYPE_CHECKING:
    from tileops.ops.op import Op

__all__ = [
    "Cell",
    "Observer",
    "Specialisation",
    "counted",
    "forget_all_plans",
    "join",
    "notify",
    "observed",
    "subscribe",
    "tell",
    "watch",
    "watched",
]

FROM_ENVIRONMENT = {
    "TILEOPS_TRACE": "tileops.introspect.trace",
    "TILEOPS_WARN": "tileops.introspect.fallback",
}
"""The module whose ``start()`` runs before the first op when an environment variable is set."""


@dataclass(slots=True)
class Cell:
    """A number of calls.

    Adding to it is one step of the interpreter as long as there is a global lock.
    """

    calls: int = 0


@dataclass(frozen=True)
class Specialisation:
    """The first call of a kind, and every call that fails before it reaches a kernel.

    Attributes:
        op: The op's class name.
        module: The module of the op's class.
        target: The target that serves it, or None for the in-tree kernels.
        selections: The decision on every kernel request; none under a target, for a call that
            writes no element, and where the request itself cannot be stated.
        seconds: How long finding or building the kernels took.
        error: What the call raised, if it failed.
        empty: Whether the call writes no element and so runs no kernel.
    """

    op: str
    module: str
    target: str | None
    selections: tuple[Selection, ...]
    seconds: float
    error: Exception | None = None
    empty: bool = False


Observer = Callable[[Specialisation], Cell | None]
"""Is told of a specialisation; returns where to count its calls, or None not to count them."""

Watcher = Callable[[Selection], None]
"""Is told of every decision of an op, whether a kernel is built for it or not."""

_observers: tuple[Observer, ...] = ()
_watchers: tuple[Watcher, ...] = ()
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


def notify(specialisation: Specialisation) -> tuple[Cell, ...]:
    """Tell every observer, in the order they subscribed; return the cells to count in.

    An observer that fails is no failure of the call: it is warned of.
    """
    cells = []
    for observer in _observers:
        try:
            cell = observer(specialisation)
        except Exception as error:
            what = f"{shown(observer)} failed on a call of {specialisation.op}"
            _warn(f"tileops: {what}: {shown(error)}")
            continue
        if cell is not None:
            cells.append(cell)
    return tuple(cells)


def watch(watcher: Watcher) -> Callable[[], None]:
    """Tell *watcher* of every decision from now on; return a function that ends it.

    Calls that find their plan or their kernel decide nothing and are not told of.
    """
    global _watchers
    with _lock:
        _watchers = (*_watchers, watcher)

    def end() -> None:
        global _watchers
        with _lock:
            _watchers = tuple(one for one in _watchers if one is not watcher)

    return end


def tell(selection: Selection) -> Selection:
    """Tell every watcher of a decision, and return it."""
    for watcher in _watchers:
        watcher(selection)
    return selection


def watched() -> bool:
    """Whether anybody is told of decisions."""
    return bool(_watchers)


def _warn(message: str) -> None:
    try:
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    except RuntimeWarning:
        # The program turns warnings into errors, and this one is none of its own.
        print(message, file=sys.stderr)


def counted(run: Callable[..., Any], cells: Sequence[Cell]) -> Callable[..., Any]:
    """Return *run*, counting its calls in every cell; *run* itself where there is none."""
    for cell in cells:
        run = _counted(run, cell)
    return run


def _counted(run: Callable[..., Any], cell: Cell) -> Callable[..., Any]:
    def run_and_count(*inputs: Any, **keywords: Any) -> Any:
        cell.calls += 1
        return run(*inputs, **keywords)

    return run_and_count


def join(op: Op) -> None:
    """Let an op be told to forget its plans; start what the environment asks for first."""
    _read_environment()
    with _lock:
        _ops.add(op)


def forget_all_plans() -> None:
    """Let the next call of every kind take the slow path again, in every op there is."""
    with _lock:
        ops = list(_ops)
    for op in ops:
        op.forget_plans()


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


# Another thread may hold the lock at a fork, and no such thread exists in the child.
os.register_at_fork(after_in_child=_renew_lock)


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
