"""What an op was constructed with, from which a copy of it is constructed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from tileops.ops._entries import EntryCache

if TYPE_CHECKING:
    from tileops.ops.op import Op

__all__ = ["Copied"]


@dataclass(frozen=True)
class Constructed:
    """The arguments of a constructor."""

    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]

    @classmethod
    def of(cls, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Constructed:
        """Return arguments as they are now: a list of sizes may change later."""
        return cls(
            tuple(_now(one) for one in arguments),
            {name: _now(one) for name, one in keywords.items()},
        )


class Copied:
    """An op whose copies are constructed as it was."""

    _constructed: Constructed
    _entries: EntryCache

    def __new__(cls, *arguments: Any, **keywords: Any) -> Self:
        """Note what the op is constructed with."""
        op = super().__new__(cls)
        op._constructed = Constructed.of(arguments, keywords)
        return op

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy or pickle an op as what constructs one like it; kernels and plans are not copied."""
        return constructed, (type(self), self._constructed, self._entries.tuned)


def constructed(kind: type[Op], given: Constructed, tuned: bool) -> Op:
    """Return a new op that is constructed like an earlier one, in tuned mode if that one is."""
    op = kind(*given.arguments, **given.keywords)
    if tuned:
        op.request_tune()
    return op


def _now(value: Any) -> Any:
    return copy.copy(value) if isinstance(value, list | dict | set) else value
