"""The folder that keeps what g++ made, and the names of what is in it."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["CACHE", "digest", "locked"]

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tileops-emulator"


@functools.cache
def _processor() -> str:
    # The code is made for this processor; a home folder may be shared by machines.
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line for line in lines if line.startswith("flags")), "")


def digest(*parts: object) -> str:
    """Return a short name for *parts* on this processor."""
    made = hashlib.sha256(_processor().encode())
    for part in parts:
        made.update(part if isinstance(part, bytes) else str(part).encode())
        made.update(b"\0")
    return made.hexdigest()[:24]


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Let one process at a time make what has this name."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
