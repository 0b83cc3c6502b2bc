"""What an expression is evaluated over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from tileops.manifest._itemsize import ITEMSIZE
from tileops.manifest._typed_shape import TypedShape


@dataclass(frozen=True)
class Scope:
    """The values that names have.

    Attributes:
        values: Params, dims, splices (tuples) and dtype variables (dtype names).
        given: The inputs that the call passes.
        tensors: Dtype and shape of the inputs given and of the outputs.
    """

    values: Mapping[str, Any]
    given: Set[str] = frozenset()
    tensors: Mapping[str, TypedShape] = field(default_factory=dict)

    def binds(self, names: Iterable[str]) -> bool:
        """Whether every one of these names has a value; a dtype's name is its own."""
        return all(name in self.values or name in ITEMSIZE for name in names)

    def extended(self, values: Mapping[str, Any]) -> Scope:
        """Return this scope with more values."""
        return Scope({**self.values, **values}, self.given, self.tensors)
