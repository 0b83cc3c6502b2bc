"""Values that are built once per key, whichever thread asks first, and tuned when asked to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

import torch

__all__ = ["BuildOnce", "device_guard"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def device_guard(device: torch.device | None) -> AbstractContextManager[Any]:
    """Make *device* current where its type has a current device."""
    if device is None or device.type != "cuda":
        return nullcontext()
    return torch.cuda.device(device)


class BuildOnce(Generic[K, V]):
    """A cache of built kernels.

    Concurrent misses of one key build once, and different keys build in parallel. A build may ask
    for another key; one that asks for its own recurses, instead of waiting for ever. A build or a
    tuning that fails leaves nothing behind and is tried again by the next caller. With a limit,
    the values asked for longest ago are forgotten.

    Attributes:
        tuning: Whether values are tuned before they are handed out.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._values: dict[K, tuple[V, torch.device | None]] = {}
        self._tuned: set[K] = set()
        # A lock is there for as long as somebody holds it or waits for it.
        self._locks: WeakValueDictionary[K, threading.RLock] = WeakValueDictionary()
        self._lock = threading.Lock()
        self.tuning = False

    def get(self, key: K, device: torch.device | None, build: Callable[[], V]) -> V:
        """Return the value of *key*, building and tuning it with *device* current."""
        with self._lock_of(key):
            found = self._values.get(key)
            if found is None:
                with device_guard(device):
                    found = (build(), device)
                with self._lock:
                    self._values[key] = found
            self._tune(key, *found)
        if self._limit is not None:
            self._use(key, found, self._limit)
        return found[0]

    def found(self, key: K) -> V | None:
        """Return the value of *key* where it can be handed out at once; None says nothing.

        A value that may have to be tuned first, or to be counted as used, is asked for by `get`.
        """
        if self.tuning or self._limit is not None:
            return None
        found = self._values.get(key)
        return None if found is None else found[0]

    def tune(self) -> None:
        """Tune every value built so far, and every later one before it is handed out.

        Raises:
            Exception: What a value's tuner raised, once every other value has had its turn; an
                ``ExceptionGroup`` where several did.
        """
        with self._lock:
            self.tuning = True
            keys = list(self._values)
        failures: list[Exception] = []
        for key in keys:
            with self._lock_of(key):
                found = self._values.get(key)
                try:
                    if found is not None:
                        self._tune(key, *found)
                except Exception as error:
                    failures.append(error)
        if len(failures) == 1:
            raise failures[0]
        if failures:
            raise ExceptionGroup("several kernels could not be tuned", failures)

    def clear(self) -> None:
        """Forget every value; whether values are tuned stays."""
        for key, _ in self.items():
            with self._lock_of(key):
                self._values.pop(key, None)
                self._tuned.discard(key)

    def items(self) -> list[tuple[K, V]]:
        """Return every key with its value, in the order they were built."""
        with self._lock:
            return [(key, value) for key, (value, _) in self._values.items()]

    def _lock_of(self, key: K) -> threading.RLock:
        with self._lock:
            return self._locks.setdefault(key, threading.RLock())

    def _use(self, key: K, found: tuple[V, torch.device | None], limit: int) -> None:
        """Make *key* the last used one, and forget the first used beyond the limit."""
        with self._lock:
            # It may have been forgotten meanwhile.
            if self._values.pop(key, None) is not None:
                self._values[key] = found
            for old in list(self._values)[:-limit]:
                del self._values[old]
                self._tuned.discard(old)

    def _tune(self, key: K, value: V, device: torch.device | None) -> None:
        request_tune = getattr(value, "request_tune", None)
        if not self.tuning or key in self._tuned or request_tune is None:
            return
        # First: a tuner may call the op that it tunes for.
        self._tuned.add(key)
        try:
            with device_guard(device):
                request_tune()
        except BaseException:
            self._tuned.discard(key)
            raise
