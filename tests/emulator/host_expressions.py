"""The values of expressions in a program's host function."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from .arguments import Argument
from .errors import HostFunctionError, UnsupportedSourceError
from .tensor_map import TensorMap

__all__ = ["Fields", "Finished", "Packed", "evaluate"]


class Packed:
    """The arguments of the host function, each behind a type index and a value."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values


class Fields:
    """An array that the host function reads or writes by index."""

    def __init__(self, values: Any) -> None:
        self.values = values


class Finished(Exception):  # noqa: N818 - leaves the function, as its return does
    """The host function returns."""


def _towards_zero(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "FloorDiv": operator.floordiv,
    "FloorMod": operator.mod,
    "Div": lambda a, b: a / b if isinstance(a, float) else _towards_zero(a, b),
    "Mod": lambda a, b: a - b * _towards_zero(a, b),
    "Min": min,
    "Max": max,
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}
_CALLS: Mapping[str, Callable[..., Any]] = {
    "likely": lambda value: value,
    "shift_right": operator.rshift,
    "shift_left": operator.lshift,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "ceil": math.ceil,
    "handle_add_byte_offset": lambda handle, _offset: handle,
    "large_uint_imm": lambda low, high: low | high << 32,
    "isnullptr": lambda value: value is None,
    "tvm_throw_last_error": lambda: 0,
}


def evaluate(node: Any, names: Mapping[Any, Any], packed: Callable[..., Any]) -> Any:
    """Return the value of an expression.

    Args:
        node: The expression.
        names: The values of variables and buffers.
        packed: Called for a call of a function by its name, with the name and the arguments.

    Raises:
        Finished: The expression returns from the function.
        HostFunctionError: A variable has no value, or a field of a null tensor is read.
        UnsupportedSourceError: The expression is of a kind that is not known.
    """

    def value(one: Any) -> Any:
        return evaluate(one, names, packed)

    match type(node).__name__:
        case "IntImm":
            return int(node.value)
        case "FloatImm":
            return float(node.value)
        case "StringImm":
            return str(node.value)
        case "Var" | "SizeVar":
            if node not in names:
                raise HostFunctionError(f"variable {node.name} has no value")
            return names[node]
        case "Cast":
            return _cast(value(node.value), str(node.dtype))
        case "BufferLoad":
            return names[node.buffer.data].values[value(node.indices[0])]
        case "Select":
            return value(node.true_value if value(node.condition) else node.false_value)
        case "Not":
            return not value(node.a)
        case "And":
            return value(node.a) and value(node.b)
        case "Or":
            return value(node.a) or value(node.b)
        case "Call":
            return _call(node, value, packed)
        case kind if kind in _BINARY:
            return _BINARY[kind](value(node.a), value(node.b))
        case kind:
            raise UnsupportedSourceError(f"host expression {kind}: {node}")


def _cast(value: Any, kind: str) -> Any:
    if kind.startswith(("int", "uint")) and isinstance(value, (int, float)):
        bits = int(kind.lstrip("uint"))
        wrapped = int(value) & ((1 << bits) - 1)
        negative = kind.startswith("int") and wrapped >> (bits - 1)
        return wrapped - (1 << bits) if negative else wrapped
    return float(value) if kind.startswith("float") else value


def _call(node: Any, value: Callable[[Any], Any], packed: Callable[..., Any]) -> Any:
    name = node.op.name.split(".")[-1] if hasattr(node.op, "name") else str(node.op)
    arguments = node.args
    match name:
        case "if_then_else":
            return value(arguments[1] if value(arguments[0]) else arguments[2])
        case "reinterpret":
            return value(arguments[-1])
        case "tvm_struct_get":
            return _field(*(value(one) for one in arguments[:3]))
        case "tvm_struct_set":
            # Writes what the call of a packed function reads, which gets its arguments here.
            return 0
        case "tvm_call_packed" | "tvm_call_cpacked" | "call_packed":
            return packed(value(arguments[0]), [value(one) for one in arguments[1:]])
        case "tvm_stack_alloca" | "tvm_stack_make_shape":
            return TensorMap()
        case "ret":
            raise Finished
        case "call_extern" | "call_pure_extern":
            return _extern(value(arguments[0]))
        case _ if name in _CALLS:
            return _CALLS[name](*(value(one) for one in arguments))
    raise UnsupportedSourceError(f"host call {name}: {node}")


def _extern(name: str) -> int:
    # Hints for the cache, which change no result.
    if "policy" in name.lower() or "error" in name.lower():
        return 0
    raise UnsupportedSourceError(f"host call of {name}")


# Type indices of packed arguments, and fields of a tensor, by TVM's numbers.
_TENSOR_INDEX, _FLOAT_INDEX, _INT_INDEX, _NULL_INDEX = 7, 3, 1, 0
_TYPE_INDEX_FIELD = 13
_TENSOR_FIELDS: Mapping[int, Callable[[Argument], Any]] = {
    1: lambda tensor: tensor,
    2: lambda tensor: Fields(tensor.shape),
    3: lambda tensor: Fields(tensor.strides),
    4: lambda tensor: len(tensor.shape),
    5: lambda tensor: tensor.dtype[0],
    6: lambda tensor: tensor.dtype[1],
    7: lambda _tensor: 1,
    8: lambda _tensor: 0,
    9: lambda _tensor: 0,
    10: lambda _tensor: 2,
}


def _field(owner: Any, index: int, field: int) -> Any:
    if isinstance(owner, Packed):
        value = owner.values[index]
        if field != _TYPE_INDEX_FIELD:
            return value
        if isinstance(value, Argument):
            return _TENSOR_INDEX
        if value is None:
            return _NULL_INDEX
        return _FLOAT_INDEX if isinstance(value, float) else _INT_INDEX
    if owner is None:
        raise HostFunctionError("a field of a null tensor is read")
    return _TENSOR_FIELDS[field](owner)
