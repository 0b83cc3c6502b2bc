"""An interpreter of a program's host function: its checks, tensor maps and launches."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .arguments import Argument
from .errors import HostFunctionError, UnsupportedSourceError
from .host_expressions import Fields, Finished, Packed, evaluate
from .launch import Launch
from .tensor_map import TensorMap

__all__ = ["HostFunction"]

# Which sizes the parameters of a launch are, by the beginnings of their names.
_SIZES = {
    "blockIdx.": "grid",
    "threadIdx.": "block",
    "clusterIdx.": "cluster",
    "clusterCtaIdx.": "cluster",
    "tir.cluster_dim_": "cluster",
    "tirx.cluster_dim_": "cluster",
}
_LOCAL_ARRAY = 64


class HostFunction:
    """A host function.

    Args:
        function: What TileLang lowered the program's host part to.
        kernels: The device functions by their names.
        launched: Called with every launch.
    """

    def __init__(
        self, function: Any, kernels: Mapping[str, Any], launched: Callable[[Launch], None]
    ) -> None:
        self._function = function
        self._kernels = kernels
        self._launched = launched
        self._names: dict[Any, Any] = {}

    def run(self, arguments: list[Any]) -> None:
        """Run the function on *arguments*.

        Raises:
            HostFunctionError: It refuses them.
        """
        given = (None, Packed(arguments), len(arguments), None)
        self._names = dict(zip(self._function.params, given, strict=True))
        with contextlib.suppress(Finished):
            self._run(self._function.body)

    def _value(self, node: Any) -> Any:
        return evaluate(node, self._names, self._packed)

    def _run(self, node: Any) -> None:
        match type(node).__name__:
            case "SeqStmt":
                for one in node.seq:
                    self._run(one)
            case "AssertStmt":
                self._assert(node)
                self._body(node)
            case "Bind" | "LetStmt":
                self._names[node.var] = self._value(node.value)
                self._body(node)
            case "DeclBuffer" | "Allocate" | "AllocBuffer" | "AttrStmt":
                self._body(node)
            case "Evaluate":
                self._value(node.value)
            case "IfThenElse":
                if self._value(node.condition):
                    self._run(node.then_case)
                elif node.else_case is not None:
                    self._run(node.else_case)
            case "For":
                first = self._value(node.min)
                for i in range(first, first + self._value(node.extent)):
                    self._names[node.loop_var] = i
                    self._run(node.body)
            case "BufferStore":
                array = self._names.setdefault(node.buffer.data, Fields([0] * _LOCAL_ARRAY))
                array.values[self._value(node.indices[0])] = self._value(node.value)
            case kind:
                raise UnsupportedSourceError(f"host statement {kind}: {node}")

    def _body(self, node: Any) -> None:
        # In one form of the tree what follows a statement is its body, in another its neighbour.
        if hasattr(node, "body"):
            self._run(node.body)

    def _assert(self, node: Any) -> None:
        if not self._value(node.condition):
            parts = getattr(node, "message_parts", None) or [node.condition]
            text = "".join(str(getattr(one, "value", one)) for one in parts)
            raise HostFunctionError(f"{text} ({node.condition})")

    def _packed(self, name: str, arguments: Sequence[Any]) -> int:
        if name in self._kernels:
            self._launch(name, arguments)
        elif name.endswith("tensormap_create_tiled"):
            self._tensor_map(arguments)
        # The device is this one, and what stays in the cache changes no result.
        elif name != "__tvm_set_device" and "l2" not in name.lower() and "persist" not in name:
            raise UnsupportedSourceError(f"host call of {name}")
        return 0

    def _tensor_map(self, arguments: Sequence[Any]) -> None:
        made, kind, rank, base, *rest = arguments
        numbers = [int(one) for one in rest]
        sizes = [numbers[i * rank : (i + 1) * rank] for i in range(4)]
        interleave, swizzle, _promotion, fill = numbers[4 * rank : 4 * rank + 4]
        address = base.at if isinstance(base, Argument) else int(base)
        made.fill(kind, address, *sizes, (interleave, swizzle, fill))

    def _launch(self, name: str, values: Sequence[Any]) -> None:
        function = self._kernels[name]
        tags = [str(one) for one in function.attrs["tirx.kernel_launch_params"]]
        arguments, numbers = values[: -len(tags)], values[-len(tags) :]
        named = dict(zip(tags, numbers, strict=True))
        sizes = {kind: [1, 1, 1] for kind in ("grid", "block", "cluster")}
        for tag, number in named.items():
            kind = next((one for prefix, one in _SIZES.items() if tag.startswith(prefix)), None)
            if kind and tag[-1] in "xyz":
                sizes[kind]["xyz".index(tag[-1])] = int(number)
        shared = int(named.get("tirx.use_dyn_shared_memory", 0))
        parameters = zip(function.params, arguments, strict=True)
        buffers = [_buffer(str(one.dtype), value) for one, value in parameters]
        self._launched(Launch(name, *sizes.values(), shared, buffers))


def _buffer(kind: str, value: Any) -> Any:
    """Return a kernel's argument in memory."""
    if isinstance(value, Argument):
        return ctypes.c_uint64(value.at)
    if isinstance(value, TensorMap):
        return value
    if value is None:
        return ctypes.c_uint64(0)
    numbers = {"float32": ctypes.c_float, "float64": ctypes.c_double}
    return numbers[kind](value) if kind in numbers else ctypes.c_int64(int(value))
