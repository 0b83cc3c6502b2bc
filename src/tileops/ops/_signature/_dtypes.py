"""The stage of dtypes: what each tensor may have, and what the variables are bound to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tileops.errors import DtypeMismatchError
from tileops.manifest import DtypeRule, ExpressionError, OutputDecl, Scope, Signature
from tileops.ops._signature._bound import Values
from tileops.ops._signature._describe import dtype_name, one_of


@dataclass
class _Dtypes:
    """The variables bound so far, and by which tensor."""

    op: str
    allowed: Mapping[str, tuple[str, ...]]
    scope: Scope
    bound: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    def check(self, tensor: str, rule: DtypeRule, given: str) -> None:
        names = rule.choose(self.scope)
        name = names[0]
        if name in self.bound:
            why = f", the {name} of {self.origins[name]}"
            self._require(tensor, (self.bound[name],), given, why)
        elif name in self.allowed:
            self._require(tensor, self.allowed[name], given)
            self.bound[name], self.origins[name] = given, tensor
        elif name in self.scope.values:
            dtype = param_dtype(rule, name, self.scope)
            self._require(tensor, (dtype,), given, f", the {name} of the op")
        else:
            self._require(tensor, names, given)

    def _require(self, tensor: str, allowed: tuple[str, ...], given: str, why: str = "") -> None:
        if given not in allowed:
            raise DtypeMismatchError(
                op=self.op,
                tensor=tensor,
                requirement=f"have dtype {one_of(allowed)}{why}",
                given=given,
            )


def bind_dtypes(
    op: str, signature: Signature, scope: Scope, inputs: Values
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the dtype variables bound, and the tensor that bound each.

    Raises:
        DtypeMismatchError: A tensor has a dtype that its declaration does not allow.
    """
    allowed = {variable.name: variable.allowed for variable in signature.dtypes}
    dtypes = _Dtypes(op, allowed, scope)
    for decl in signature.inputs:
        if decl.name in inputs:
            dtypes.check(decl.name, decl.dtype, dtype_name(inputs[decl.name].dtype))
    return dtypes.bound, dtypes.origins


def output_dtypes(signature: Signature, scope: Scope, inputs: Values) -> dict[str, str]:
    """Return the dtype of every output the call returns, once the variables are bound."""
    return {
        decl.name: _output_dtype(decl, scope, inputs)
        for decl in signature.outputs
        if decl.when.evaluate(scope)
    }


def _output_dtype(decl: OutputDecl, scope: Scope, inputs: Values) -> str:
    if decl.alias is not None:
        return dtype_name(inputs[decl.alias].dtype)
    (name,) = decl.dtype.choose(scope)
    return param_dtype(decl.dtype, name, scope) if name in scope.values else name


def check_buffer_dtypes(
    op: str, signature: Signature, buffers: Values, dtypes: Mapping[str, str]
) -> None:
    """Raise DtypeMismatchError for the first buffer whose dtype is not its output's."""
    for buffer in signature.buffers:
        spec = buffers.get(buffer.name)
        if spec is not None and dtype_name(spec.dtype) != dtypes[buffer.output]:
            raise DtypeMismatchError(
                op=op,
                tensor=buffer.name,
                requirement=f"have dtype {dtypes[buffer.output]}, as {buffer.output} has",
                given=dtype_name(spec.dtype),
            )


def param_dtype(rule: DtypeRule, name: str, scope: Scope) -> str:
    """Return the dtype that a parameter or variable stands for.

    Raises:
        ExpressionError: It is None where the declaration needs a dtype.
    """
    value = scope.values[name]
    if value is None:
        raise ExpressionError(text=rule.text, values=f"{name} = None", problem="None is no dtype")
    return str(value)
