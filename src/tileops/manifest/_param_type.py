"""The types of parameters, and whether a value has one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from tileops.errors.wording import shown
from tileops.manifest._dtype import check_dtype
from tileops.manifest._form import FormError, nearest

INTS = "tuple[int, ...]"


@dataclass(frozen=True)
class ParamType:
    """``int``, ``float``, ``bool``, ``str``, ``dtype`` or ``tuple[int, ...]``, or None as well.

    Attributes:
        kind: The type without ``| None``.
        nullable: Whether None is a value.
    """

    kind: str
    nullable: bool = False

    @classmethod
    def parse(cls, text: object) -> ParamType:
        """Read a type; raise FormError where it is none."""
        if not isinstance(text, str):
            raise FormError(f"expected a type, got {text!r}{nearest(str(text), _CONVERT)}")
        parts = [part.strip() for part in text.split("|")]
        kinds = [part for part in parts if part != "None"]
        if len(kinds) != 1 or kinds[0] not in _CONVERT or len(parts) > 2:
            raise FormError(f"unknown type {text!r}{nearest(text, _CONVERT)}")
        return cls(kinds[0], nullable=len(parts) == 2)

    def normalise(self, value: Any) -> Any:
        """Return the value in the one form it is kept in: a float for ``1``, a tuple for a list.

        Raises:
            FormError: The value does not have this type; the text says what it needs.
        """
        if value is None and self.nullable:
            return None
        try:
            return _CONVERT[self.kind](value)
        except (TypeError, OverflowError):
            raise FormError(
                f"must be {self}, got {shown(value)} ({type(value).__name__})"
            ) from None

    def __str__(self) -> str:
        return f"{self.kind} | None" if self.nullable else self.kind


def _instance_of(value: Any, kind: type) -> Any:
    # A bool counts as an int in Python and is a mistake in a call; numpy's scalars register with
    # the abstract number types, tensors and arrays of one element do not.
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise TypeError
    return value


def _integers(value: Any) -> tuple[int, ...]:
    items = value if isinstance(value, list | tuple) else (value,)
    return tuple(int(_instance_of(item, Integral)) for item in items)


def _dtype(value: Any) -> str:
    check_dtype(_instance_of(value, str))
    return str(value)


_CONVERT: dict[str, Callable[[Any], Any]] = {
    "bool": lambda value: _instance_of(value, bool),
    "dtype": _dtype,
    "float": lambda value: float(_instance_of(value, Real)),
    "int": lambda value: int(_instance_of(value, Integral)),
    "str": lambda value: _instance_of(value, str),
    INTS: _integers,
}
