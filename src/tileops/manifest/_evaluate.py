"""The evaluator of the manifest's expressions, which have been checked when they were read."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from tileops.manifest._itemsize import ITEMSIZE
from tileops.manifest._scope import Scope

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ceil_div": lambda a, b: -(-a // b),
    "itemsize": lambda dtype: ITEMSIZE[dtype],
    "len": len,
    "max": max,
    "min": min,
    "prod": math.prod,
    "sum": sum,
}

TENSOR_FUNCTIONS = frozenset({"given", "nbytes", "numel"})

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}


def evaluate(node: ast.expr, scope: Scope) -> Any:
    """Return the value of an expression that has been checked when it was read."""
    return _Evaluator(scope).visit(node)


class _Evaluator(ast.NodeVisitor):
    """One method per node that an expression may contain."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def generic_visit(self, node: ast.AST) -> Any:
        raise TypeError(f"{type(node).__name__} has no place in an expression")

    def visit_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in self.scope.values:
            return self.scope.values[node.id]
        if node.id in ITEMSIZE:
            return node.id
        raise LookupError(f"{node.id} has no value")

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(map(self.visit, node.elts))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        return self.visit(node.value)[self.visit(node.slice)]

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        return self.visit(node.body if self.visit(node.test) else node.orelse)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.visit(node.operand)
        return not value if isinstance(node.op, ast.Not) else -value

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        return _BINARY[type(node.op)](self.visit(node.left), self.visit(node.right))

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        stops_at = isinstance(node.op, ast.Or)
        result: Any = None
        for value in node.values:
            result = self.visit(value)
            if bool(result) is stops_at:
                break
        return result

    def visit_Compare(self, node: ast.Compare) -> Any:
        left = self.visit(node.left)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.visit(comparator)
            if not _COMPARE[type(op)](left, right):
                return False
            left = right
        return True

    def visit_Call(self, node: ast.Call) -> Any:
        assert isinstance(node.func, ast.Name)
        function = node.func.id
        if function in FUNCTIONS:
            return FUNCTIONS[function](*map(self.visit, node.args))
        (argument,) = node.args
        assert isinstance(argument, ast.Name)
        if function == "given":
            return argument.id in self.scope.given
        # An absent tensor holds no elements and moves no bytes.
        tensor = self.scope.tensors.get(argument.id)
        return 0 if tensor is None else getattr(tensor, function)
