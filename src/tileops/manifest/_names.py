"""The names of a signature: what each is, and which ones every call binds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tileops.manifest._expression import ALWAYS, NEVER
from tileops.manifest._param_type import INTS
from tileops.manifest._shape import Axis, Shape
from tileops.manifest._signature import Signature, TensorDecl


@dataclass(frozen=True)
class Names:
    """The names of one signature by what they stand for.

    Attributes:
        signature: The signature.
    """

    signature: Signature

    @cached_property
    def params(self) -> frozenset[str]:
        """Constructor parameters."""
        return frozenset(param.name for param in self.signature.params)

    @cached_property
    def sizes(self) -> frozenset[str]:
        """Parameters that can be an axis."""
        return frozenset(p.name for p in self.signature.params if str(p.type) == "int")

    @cached_property
    def tuples(self) -> frozenset[str]:
        """Parameters that can be a splice."""
        return frozenset(p.name for p in self.signature.params if str(p.type) == INTS)

    @cached_property
    def dtype_params(self) -> frozenset[str]:
        """Parameters that can be a dtype."""
        return frozenset(p.name for p in self.signature.params if p.type.kind == "dtype")

    @cached_property
    def variables(self) -> frozenset[str]:
        """Dtype variables."""
        return frozenset(variable.name for variable in self.signature.dtypes)

    @cached_property
    def inputs(self) -> frozenset[str]:
        """Input tensors."""
        return frozenset(decl.name for decl in self.signature.inputs)

    @cached_property
    def outputs(self) -> frozenset[str]:
        """Output tensors."""
        return frozenset(decl.name for decl in self.signature.outputs)

    @cached_property
    def dims(self) -> frozenset[str]:
        """Dims and splices that some input binds."""
        axes = (axis for decl in self.signature.inputs for axis in axes_of(decl.shape))
        return frozenset(axis.name for axis in axes if axis.name) - self.params

    @cached_property
    def bound(self) -> frozenset[str]:
        """Dims, splices and dtype variables that every call binds."""
        names: set[str] = set()
        for decl in self.signature.inputs:
            if always_given(decl):
                names |= named_in_every_case(decl.shape)
                names |= set.intersection(*(set(case.value) for case in decl.dtype.cases))
        return frozenset(names) - self.params


def always_given(decl: TensorDecl) -> bool:
    """Whether every call passes this input."""
    return decl.optional == NEVER and decl.when == ALWAYS


def axes_of(shape: Shape) -> tuple[Axis, ...]:
    """Return the axes of every case of a shape."""
    return tuple(axis for case in shape.cases for axis in case.value)


def named_in_every_case(shape: Shape) -> set[str]:
    """Return the dims, splices and parameters that stand for an axis in every case of a shape."""
    cases = [{axis.name for axis in case.value if axis.name} for case in shape.cases]
    return set.intersection(*cases)
