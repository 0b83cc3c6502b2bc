"""Expressions as Python functions over a row of values, for what every new size evaluates."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tileops.manifest._evaluate import FUNCTIONS
from tileops.manifest._itemsize import ITEMSIZE
from tileops.manifest._scope import Scope

Place = int | slice
"""Where a name's value stands in a row: a dim at an index, a splice at a slice."""


def function_of(
    node: ast.expr, places: Mapping[str, Place], scope: Scope
) -> Callable[[Sequence[Any]], Any]:
    """Return the function from a row to the value of an expression.

    The expression has been checked when it was read, so compiling it runs nothing but what the
    evaluator would.

    Args:
        node: The expression.
        places: Where the names that differ from row to row stand.
        scope: The values of all others, and the inputs given.

    Raises:
        LookupError: The expression reads something that has no value.
    """
    names: dict[str, Any] = {"__builtins__": {}}
    # The translation works in place.
    body = _Translation(places, scope, names).visit(copy.deepcopy(node))
    row = ast.arguments([], [ast.arg("row")], None, [], [], None, [])
    tree = ast.fix_missing_locations(ast.Expression(ast.Lambda(row, body)))
    function: Callable[[Sequence[Any]], Any] = eval(compile(tree, "<manifest>", "eval"), names)
    return function


class _Translation(ast.NodeTransformer):
    """Replaces every name by where its value stands, or by a name that no manifest can write."""

    def __init__(self, places: Mapping[str, Place], scope: Scope, names: dict[str, Any]) -> None:
        self.places, self.scope, self.names = places, scope, names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        place = self.places.get(node.id)
        if isinstance(place, slice):
            bounds = ast.Slice(ast.Constant(place.start), ast.Constant(place.stop))
            return ast.Subscript(_name("row"), bounds, ast.Load())
        if place is not None:
            return ast.Subscript(_name("row"), ast.Constant(place), ast.Load())
        if node.id in self.scope.values:
            return self._given(f"value {node.id}", self.scope.values[node.id])
        if node.id in ITEMSIZE:
            return ast.Constant(node.id)
        raise LookupError(f"{node.id} has no value")

    def visit_Call(self, node: ast.Call) -> ast.expr:
        assert isinstance(node.func, ast.Name)
        function = node.func.id
        if function == "given":
            (argument,) = node.args
            assert isinstance(argument, ast.Name)
            return ast.Constant(argument.id in self.scope.given)
        if function not in FUNCTIONS:
            raise LookupError(f"{function} reads tensors")
        arguments = [self.visit(argument) for argument in node.args]
        return ast.Call(self._given(f"call {function}", FUNCTIONS[function]), arguments, [])

    def _given(self, name: str, value: Any) -> ast.Name:
        self.names[name] = value
        return _name(name)


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())
