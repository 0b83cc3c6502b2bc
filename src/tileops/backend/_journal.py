"""Transactions: whose registrations a thread makes, and how they are undone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tileops.selection import Origin


class Journal(threading.local):
    """The transaction of the current thread.

    Only the thread that imports a backend registers for it: what other threads register meanwhile
    is theirs, and stays when the backend fails.

    Attributes:
        origin: The backend that the thread is loading, or None.
    """

    def __init__(self) -> None:
        self.origin: Origin | None = None
        self._undo: list[Callable[[], object]] = []

    @contextmanager
    def transaction(self, origin: Origin) -> Iterator[None]:
        """Attribute what this thread registers to *origin*; undo it when the body raises."""
        self.origin, self._undo = origin, []
        try:
            yield
        except BaseException:
            for step in reversed(self._undo):
                step()
            raise
        finally:
            self.origin, self._undo = None, []

    def note(self, undo: Callable[[], object]) -> None:
        """Remember how a registration is undone, where this thread is in a transaction."""
        if self.origin is not None:
            self._undo.append(undo)
