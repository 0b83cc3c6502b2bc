"""What an expression is evaluated over."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

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
