"""The stage of shapes: ranks, dims and splices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tileops.errors import ShapeMismatchError
from tileops.manifest import Axis, ExpressionError, Scope, Shape, Signature
from tileops.ops._signature._bound import Values


def bind_dims(
    op: str, signature: Signature, scope: Scope, inputs: Values
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the dims and splices bound, and the tensor that bound each.

    Tensors are taken in order. Computed sizes are checked after all of them, since they may read
    a name that a later tensor binds.

    Raises:
        ShapeMismatchError: A tensor has another rank or another size than declared.
    """
    dims = _Dims(op, scope)
    given = [decl for decl in signature.inputs if decl.name in inputs]
    for decl in given:
        dims.bind(decl.name, decl.shape, inputs[decl.name].shape)
    for decl in given:
        dims.check_computed(decl.name, decl.shape, inputs[decl.name].shape)
    return {name: dims.values[name] for name in dims.origins}, dims.origins


def shape_of(axes: Sequence[Axis], scope: Scope) -> tuple[Any, ...]:
    """Return the sizes of axes whose names are all bound.

    Raises:
        ExpressionError: A size has no value.
    """
    sizes: list[Any] = []
    for axis in axes:
        known = scope.values.get(axis.name) if axis.name else None
        value = axis.size.evaluate(scope) if known is None else known
        sizes += value if axis.splice else [value]
    return tuple(sizes)


def lengths_of(axes: Sequence[Axis], rank: int, values: Mapping[str, Any]) -> list[int] | None:
    """Return how many dims each axis stands for, or None when the rank does not fit."""
    known: list[int | None] = []
    for axis in axes:
        if not axis.splice:
            known.append(1)
        else:
            value = values.get(str(axis.name))
            known.append(None if value is None else len(value))
    left = rank - sum(length or 0 for length in known)
    if left < 0 or (left > 0 and None not in known):
        return None
    return [left if length is None else length for length in known]


class _Dims:
    """The dims bound so far, and by which tensor."""

    def __init__(self, op: str, scope: Scope) -> None:
        self.op = op
        self.values = dict(scope.values)
        # The scope sees the values as they are bound.
        self.scope = Scope(self.values, scope.given)
        self.origins: dict[str, str] = {}

    def bind(self, tensor: str, shape: Shape, sizes: tuple[int, ...]) -> None:
        """Check the rank and the axes that are names or numbers; bind the names that are new."""
        axes = shape.choose(self.scope)
        lengths = lengths_of(axes, len(sizes), self.values)
        found: dict[str, Any] = {}
        fits = lengths is not None
        first = 0
        for axis, length in zip(axes, lengths or (), strict=fits):
            size = sizes[first : first + length] if axis.splice else sizes[first]
            first += length
            if axis.name is None:
                fits = fits and (axis.computed or axis.size.evaluate(self.scope) == size)
            else:
                known = self.values.get(axis.name, found.get(axis.name))
                fits = fits and (known is None or known == size)
                if known is None:
                    found[axis.name] = size
        if not fits:
            raise self._mismatch(tensor, shape, sizes)
        self.values.update(found)
        self.origins.update(dict.fromkeys(found, tensor))

    def check_computed(self, tensor: str, shape: Shape, sizes: tuple[int, ...]) -> None:
        """Check the axes that are computed, which needs every name bound."""
        axes = shape.choose(self.scope)
        if not any(axis.computed for axis in axes):
            return
        try:
            expected = shape_of(axes, self.scope)
        except ExpressionError as error:
            raise self._mismatch(tensor, shape, sizes, f" ({error.problem})") from error
        if expected != sizes:
            raise self._mismatch(tensor, shape, sizes)

    def _mismatch(
        self, tensor: str, shape: Shape, sizes: tuple[int, ...], problem: str = ""
    ) -> ShapeMismatchError:
        axes = shape.choose(self.scope)
        facts: dict[str, None] = {}
        for axis in axes:
            if fact := axis.size.shown(self.scope, self.origins):
                facts[fact] = None
        written = f"[{', '.join(map(str, axes))}]"
        why = f", that is {written} with {', '.join(facts)}" if facts else ""
        return ShapeMismatchError(
            op=self.op,
            tensor=tensor,
            requirement=f"have shape {_required(axes, self.scope)}{why}{problem}",
            given=str(sizes),
        )


def _required(axes: Sequence[Axis], scope: Scope) -> str:
    """Return the shape required as far as it is known: ``(*B, 256)``."""
    parts: list[str] = []
    for axis in axes:
        try:
            parts += map(str, shape_of([axis], scope))
        except ExpressionError:
            parts.append(str(axis))
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
