"""The candidates of one interface of one op, with their precedence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tileops.errors import KeyReuseError
from tileops.selection._candidate import IN_TREE, Candidate, Origin
from tileops.selection._precedence import Precedence, precedence


@dataclass(frozen=True)
class SelectionTable:
    """A checked candidate set.

    Attributes:
        op: The op's class name.
        interface: The interface's key in the op.
        candidates: One per key, in declaration order.
        origin: Where the op's class comes from.
        precedence: The closure of the declared preferences; made at construction.

    Raises:
        KeyReuseError: Two candidates share a key.
        SeveralGeneralError: Two candidates are general.
        PreferenceError: A ``preferred_over`` names no rival, or stands on the general one.
        PreferenceCycleError: The preferences lead back to a key.
    """

    op: str
    interface: str
    candidates: tuple[Candidate, ...]
    origin: Origin = IN_TREE
    precedence: Precedence = field(init=False, compare=False)

    def __init__(
        self, op: str, interface: str, candidates: Iterable[Candidate], origin: Origin = IN_TREE
    ) -> None:
        given = tuple(candidates)
        keys = [candidate.key for candidate in given]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        if twice:
            raise KeyReuseError(op=op, keys=", ".join(twice), origin=f"interface {interface!r}")
        object.__setattr__(self, "op", op)
        object.__setattr__(self, "interface", interface)
        object.__setattr__(self, "candidates", given)
        object.__setattr__(self, "origin", origin)
        object.__setattr__(self, "precedence", precedence(op, interface, given))

    def __reduce__(self) -> tuple[Any, ...]:
        # The closure is read-only mappings, which cannot be pickled; it is made again instead.
        return SelectionTable, (self.op, self.interface, self.candidates, self.origin)
