"""Checking arguments that are no tensors against their declarations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tileops.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    UnknownArgumentError,
)
from tileops.manifest import BufferDecl, FormError, ParamDecl, nearest
from tileops.ops._signature._describe import described, dtype_of, manifest_value, one_of

LARGEST = 2.0**127
"""The magnitude of a number, at most: float32 holds it, with a small factor folded into it too."""


def check_keywords(
    op: str, kind: str, decls: Sequence[ParamDecl | BufferDecl], values: Mapping[str, Any]
) -> None:
    """Raise UnknownArgumentError for the first keyword that no declaration has."""
    names = [decl.name for decl in decls]
    for name in values:
        if name not in names:
            raise UnknownArgumentError(
                op=op, tensor=name, requirement=kind, given=nearest(name, names)
            )


def check_value(op: str, decl: ParamDecl, value: Any) -> Any:
    """Return a value in the one form its declared type keeps.

    Raises:
        ArgumentTypeError: The value has another type.
        ArgumentValueError: The value is none of the choices, no finite number, or a number
            that no tensor and no kernel can hold.
    """
    try:
        # The manifest writes a dtype by its name; a caller passes the dtype itself.
        if decl.type.kind == "dtype" and isinstance(value, str):
            raise FormError(value)
        kept = decl.type.normalise(manifest_value(value))
    except FormError:
        raise ArgumentTypeError(
            op=op, tensor=decl.name, requirement=f"be {decl.type}", given=described(value)
        ) from None
    if isinstance(kept, float) and not math.isfinite(kept):
        raise ArgumentValueError(
            op=op, tensor=decl.name, requirement="be finite", given=described(value)
        )
    if isinstance(kept, float) and abs(kept) > LARGEST:
        raise ArgumentValueError(
            op=op,
            tensor=decl.name,
            requirement="be at most 2**127 in magnitude",
            given=described(value),
        )
    if not _fits_64_bits(kept):
        raise ArgumentValueError(
            op=op, tensor=decl.name, requirement="fit 64 bits", given=described(value)
        )
    if not decl.allows(kept):
        raise ArgumentValueError(
            op=op,
            tensor=decl.name,
            requirement=f"be {one_of(map(str, decl.choices))}",
            given=described(value),
        )
    return as_torch(decl, kept)


def _fits_64_bits(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_fits_64_bits(one) for one in value)
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def as_torch(decl: ParamDecl, value: Any) -> Any:
    """Return a value as a caller passes it, given as the manifest keeps it."""
    return dtype_of(value) if decl.type.kind == "dtype" and value is not None else value
