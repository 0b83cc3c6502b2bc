"""Sizes: whether a call that differs from a checked one in sizes alone passes the checks too.

When presence, dtypes, devices, ranks and contiguity are those of a call that passed, what is left
of the checks are equations between sizes, and conditions over them. Both are found once, by
position in the row of all sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from tileops.manifest import Axis, Expression, ExpressionError, Place, Scope, Signature
from tileops.ops._signature._bound import BoundCall
from tileops.ops._signature._describe import dtype_name, manifest_value
from tileops.ops._signature._dims import lengths_of

Row = tuple[Any, ...]
Pick = Callable[[Row], Row]


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the sizes of a call must satisfy, and the sizes of its outputs.

    A row holds every size of the inputs and the buffers, what is computed, and the constants.

    Attributes:
        computed: What stands in a row after the sizes, each computed from them.
        constants: What stands last.
        left: Picks the values that must equal those that *right* picks.
        right: See *left*.
        condition: Must hold of the sizes.
        outputs: Per new output, picks its sizes.
    """

    computed: tuple[Callable[[Row], Any], ...]
    constants: Row
    left: Pick
    right: Pick
    condition: Callable[[Row], Any]
    outputs: tuple[Pick, ...]

    def outputs_for(self, sizes: Row) -> list[Row] | None:
        """Return the shape of every new output, or None where only the full checks can tell.

        Args:
            sizes: The sizes of the inputs given and the buffers, in order.
        """
        if 0 in sizes:
            # A call that writes no element never runs.
            return None
        try:
            row = (*sizes, *[compute(sizes) for compute in self.computed], *self.constants)
            if self.left(row) != self.right(row):
                return None
            if not self.condition(sizes):
                return None
        except (ArithmeticError, TypeError, ValueError, LookupError):
            return None
        shapes = [pick(row) for pick in self.outputs]
        if self.computed and not all(_is_size(size) for shape in shapes for size in shape):
            return None
        return shapes


def sizes_of(signature: Signature, call: BoundCall) -> Sizes | None:
    """Return what calls like *call* must satisfy, or None where more than sizes would matter.

    Args:
        signature: The signature, narrowed by the op's parameters.
        call: A call that passed the checks.
    """
    try:
        return _Equations(signature, call).sizes()
    except (ExpressionError, LookupError):
        # A size chooses the shape of an output.
        return None


class _Equations:
    """The equations between the sizes of calls like one, by their place in a row."""

    def __init__(self, signature: Signature, call: BoundCall) -> None:
        self.signature, self.call = signature, call
        values = {name: manifest_value(value) for name, value in call.params.items()}
        values |= {name: dtype_name(dtype) for name, dtype in call.dtypes.items()}
        self.scope = Scope(values, call.given)
        self.places: dict[str, Place] = {}
        self.computed: list[Callable[[Row], Any]] = []
        self.constants: list[Any] = []
        self.equal: list[tuple[int, int]] = []
        self.inputs = [spec.shape for spec in call.inputs.values() if spec is not None]
        buffered = [len(call.outputs[name].shape) for name in call.buffers]
        self.count = sum(map(len, self.inputs)) + sum(buffered)

    def sizes(self) -> Sizes:
        given = [decl for decl in self.signature.inputs if decl.name in self.call.given]
        axes = [decl.shape.choose(self.scope) for decl in given]
        self._place(axes)
        bound = self.scope.extended(self.call.dims)
        conditions = [
            one.require for one in self.signature.refinements if bound.binds(one.require.names)
        ]
        start = 0
        for one, shape in zip(axes, self.inputs, strict=True):
            self._equate(start, one)
            start += len(shape)
        shapes = {
            decl.name: self._indices(decl.shape.choose(self.scope))
            for decl in self.signature.outputs
            if decl.name in self.call.outputs and decl.alias is None
        }
        for name in self.call.buffers:
            self.equal += enumerate(shapes[name], start)
            start += len(shapes[name])
        return Sizes(
            tuple(self.computed),
            tuple(reversed(self.constants)),
            _pick(left for left, _ in self.equal),
            _pick(right for _, right in self.equal),
            Expression.all_of(conditions).function(self.places, self.scope),
            tuple(map(_pick, shapes.values())),
        )

    def _place(self, inputs: Sequence[Sequence[Axis]]) -> None:
        """Say where the first size of every name that a call binds stands."""
        start = 0
        known = {**self.scope.values, **self.call.dims}
        for axes, shape in zip(inputs, self.inputs, strict=True):
            for axis, length in zip(axes, lengths_of(axes, len(shape), known) or (), strict=True):
                if axis.name in self.call.dims:
                    place = slice(start, start + length) if axis.splice else start
                    self.places.setdefault(str(axis.name), place)
                start += length

    def _equate(self, start: int, axes: Sequence[Axis]) -> None:
        """Equate the sizes of an input with those that its axes stand for."""
        for here, there in enumerate(self._indices(axes), start):
            if here != there:
                self.equal.append((here, there))

    def _indices(self, axes: Sequence[Axis]) -> list[int]:
        """Return where in a row the sizes of some axes stand."""
        found: list[int] = []
        for axis in axes:
            place = self.places.get(str(axis.name))
            if isinstance(place, slice):
                found += range(place.start, place.stop)
            elif place is not None:
                found.append(place)
            elif axis.computed:
                found.append(self._compute(axis.size))
            else:
                value = axis.size.evaluate(self.scope)
                found += map(self._constant, value if axis.splice else [value])
        return found

    def _compute(self, size: Expression) -> int:
        self.computed.append(size.function(self.places, self.scope))
        return self.count + len(self.computed) - 1

    def _constant(self, size: Any) -> int:
        # From the end, since what is computed is counted later.
        self.constants.append(size)
        return -len(self.constants)


def _pick(places: Iterable[int]) -> Pick:
    """Return the function that picks these places of a row, as a tuple however many they are."""
    wanted = tuple(places)
    if len(wanted) > 1:
        return itemgetter(*wanted)
    return lambda row: tuple(row[place] for place in wanted)


def _is_size(size: Any) -> bool:
    return type(size) is int and size > 0
