"""Bounded: a cache that keeps what was used last, without a lock where something is found."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

__all__ = ["Bounded"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Bounded(Generic[K, V]):
    """A cache of two generations.

    A value that is stored, or found in the older generation, joins the younger one; when that is
    full it becomes the older one, and what was the older one is forgotten. So the *size* values
    used last are always there, and never more than twice as many.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """Return the value of *key*, or None."""
        value = self._young.get(key)
        if value is None and self._old:
            value = self._old.get(key)
            if value is not None:
                self[key] = value
        return value

    def __setitem__(self, key: K, value: V) -> None:
        if len(self._young) >= self.size and key not in self._young:
            with self._lock:
                if len(self._young) >= self.size:
                    self._old, self._young = self._young, {}
        self._young[key] = value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._old, self._young = {}, {}

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())

    def __iter__(self) -> Iterator[K]:
        return iter(self._young.keys() | self._old.keys())
