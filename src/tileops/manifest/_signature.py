"""What an op takes and returns, as frozen records; nothing here checks a call."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from tileops.manifest._dtype import DtypeRule
from tileops.manifest._expression import ALWAYS, NEVER, Expression
from tileops.manifest._itemsize import ITEMSIZE
from tileops.manifest._param_type import ParamType
from tileops.manifest._shape import Shape


class ParamDecl(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter: of the constructor, or (under ``execution``) of one call.

    Attributes:
        name: The keyword.
        type: What values it takes.
        default: The default, a dtype by its name; UNSET where a value is required.
        choices: The values allowed; empty where the type decides alone.
    """

    name: str
    type: ParamType
    default: Any = msgspec.UNSET
    choices: tuple[Any, ...] = ()

    @property
    def required(self) -> bool:
        """Whether the caller must pass it."""
        return self.default is msgspec.UNSET

    def allows(self, value: Any) -> bool:
        """Whether a value of its type is among the choices; None is no matter of choice."""
        return not self.choices or value is None or value in self.choices


class DtypeVar(msgspec.Struct, frozen=True, kw_only=True):
    """A dtype variable: the first tensor that uses it binds it, the others must agree."""

    name: str
    allowed: tuple[str, ...]


class TensorDecl(msgspec.Struct, frozen=True, kw_only=True):
    """An input, in the order of the call.

    Attributes:
        name: The argument's name.
        dtype: The dtypes it may have.
        shape: Its shape over named dims, splices and parameters.
        optional: When the caller may leave it out.
        when: When the call has this input at all; otherwise it must be left out.
        written: When the call writes it in place.
        contiguous: Whether the caller must pass it contiguous. Other inputs that are not
            written are made contiguous by the op.
        device: ``call`` for the call's device, ``cpu`` for a tensor that stays on the host.
    """

    name: str
    dtype: DtypeRule
    shape: Shape
    optional: Expression = NEVER
    when: Expression = ALWAYS
    written: Expression = NEVER
    contiguous: bool = False
    device: Literal["call", "cpu"] = "call"


class OutputDecl(msgspec.Struct, frozen=True, kw_only=True):
    """An output, in the order of the results.

    Attributes:
        name: The result's name.
        dtype: Its dtype, once the inputs are known.
        shape: Its shape, once the inputs are known.
        when: When the call returns it.
        alias: The written input that is returned as this output, or None for a new tensor.
    """

    name: str
    dtype: DtypeRule
    shape: Shape
    when: Expression = ALWAYS
    alias: str | None = None


class BufferDecl(msgspec.Struct, frozen=True, kw_only=True):
    """A keyword-only tensor that receives an output; leaving it out allocates one.

    Attributes:
        name: The keyword.
        output: The output it receives; it has that output's dtype and shape.
        contiguous: Whether the caller must pass it contiguous.
    """

    name: str
    output: str
    contiguous: bool = False


class Refinement(msgspec.Struct, frozen=True, kw_only=True):
    """A condition over params, dims, dtype variables and presence that every call satisfies.

    Attributes:
        require: The condition.
        says: The same as a sentence for the error, or None.
    """

    require: Expression
    says: str | None = None


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a call is checked against.

    Attributes:
        params: Constructor parameters, in order.
        dtypes: Dtype variables.
        inputs: Input tensors, in the order of the call.
        outputs: Output tensors, in the order of the results.
        together: Groups of inputs that are given all or none.
        refinements: Conditions checked after the shapes.
        buffers: Keyword-only output buffers.
        execution: Keyword-only arguments of one call that do not change its result.
    """

    inputs: tuple[TensorDecl, ...]
    outputs: tuple[OutputDecl, ...] = ()
    params: tuple[ParamDecl, ...] = ()
    dtypes: tuple[DtypeVar, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    refinements: tuple[Refinement, ...] = ()
    buffers: tuple[BufferDecl, ...] = ()
    execution: tuple[ParamDecl, ...] = ()

    @property
    def size_params(self) -> tuple[str, ...]:
        """The parameters that are an axis or a splice of some shape, in order."""
        shapes = [decl.shape for decl in self.inputs] + [decl.shape for decl in self.outputs]
        named = {axis.name for shape in shapes for case in shape.cases for axis in case.value}
        return tuple(param.name for param in self.params if param.name in named)

    @property
    def param_refinements(self) -> tuple[Refinement, ...]:
        """The refinements that read parameters alone, which the constructor checks."""
        return tuple(each for each in self.refinements if self._reads_params(each.require))

    @property
    def call_refinements(self) -> tuple[Refinement, ...]:
        """The refinements that every call is checked against."""
        return tuple(each for each in self.refinements if not self._reads_params(each.require))

    def _reads_params(self, expression: Expression) -> bool:
        params = {param.name for param in self.params}
        return expression.names <= params | ITEMSIZE.keys() and not expression.given
