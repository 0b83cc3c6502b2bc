"""Copies of the arguments' memory between pages that nobody may touch."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterable
from dataclasses import dataclass

from .arguments import Argument, Storage

__all__ = ["Guard"]

_PAGE = 4096
_NEAR = 16 * _PAGE
_READ_AND_WRITE = 3


@dataclass(frozen=True)
class _Copy:
    """Memory that arguments share, and its copy between two closed pages."""

    pages: mmap.mmap
    first_closed: int
    last_closed: int
    original: int
    start: int
    size: int
    owners: tuple[Argument | Storage, ...]


class Guard:
    """Moves arguments to where an access past their ends is an error.

    The ends touch the closed pages, so that the first byte beyond is seen; one before the
    beginning may be missed, by less than 16 bytes.
    """

    def __init__(self, arguments: Iterable[Argument | Storage], active: bool = True) -> None:
        self._copies: list[_Copy] = []
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        if active:
            self._copies = [self._copy(*group) for group in _overlapping(arguments)]

    def _copy(self, low: int, high: int, owners: list[Argument | Storage]) -> _Copy:
        size = high - low
        count = -(-size // _PAGE) + 1
        pages = mmap.mmap(-1, (count + 2) * _PAGE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        end = base + (count + 1) * _PAGE
        # The copy is aligned as the original is, to 16 bytes.
        start = end - size - (end - size - low) % 16
        ctypes.memmove(start, low, size)
        for page in (base, end):
            self._libc.mprotect(page, _PAGE, 0)
        for one in owners:
            one.at = start + (one.start - low)
        return _Copy(pages, base, end, low, start, size, tuple(owners))

    def describe(self, address: int) -> str:
        """Say which argument an address belongs to, or lies close to; empty for none."""
        near = []
        for one in self._copies:
            distance = max(one.start - address, address - (one.start + one.size - 1), 0)
            shape = tuple(one.owners[0].shape)
            near.append(
                (
                    distance,
                    f"byte {address - one.start} of {one.size} of the argument of shape {shape}",
                )
            )
        distance, text = min(near, default=(_NEAR, ""))
        return text if distance < _NEAR else ""

    def close(self) -> None:
        """Copy everything back, and open the pages again."""
        for one in self._copies:
            ctypes.memmove(one.original, one.start, one.size)
            for page in (one.first_closed, one.last_closed):
                self._libc.mprotect(page, _PAGE, _READ_AND_WRITE)
        self._copies = []


def _overlapping(
    arguments: Iterable[Argument | Storage],
) -> list[tuple[int, int, list[Argument | Storage]]]:
    """Group arguments that share memory, each group with where it begins and ends."""
    groups: list[tuple[int, int, list[Argument | Storage]]] = []
    for one in sorted((x for x in arguments if x.size), key=lambda x: (x.start, x.size)):
        end = one.start + one.size
        if groups and one.start < groups[-1][1]:
            low, high, owners = groups[-1]
            groups[-1] = low, max(high, end), [*owners, one]
        else:
            groups.append((one.start, end, [one]))
    return groups
