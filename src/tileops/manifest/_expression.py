"""Conditions and sizes: a small part of Python's expressions, read once and evaluated safely.

Arithmetic, comparisons, ``and``/``or``/``not``, ``in``, conditional expressions, constant
subscripts, and the functions of `FUNCTIONS` and `TENSOR_FUNCTIONS`. Nothing else can be written,
so evaluating a manifest runs no code of its author.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tileops.errors import ExpressionError
from tileops.manifest._evaluate import FUNCTIONS, TENSOR_FUNCTIONS, evaluate
from tileops.manifest._form import FormError, nearest, parse
from tileops.manifest._function import Place, function_of
from tileops.manifest._scope import Scope

_ALLOWED = (
    *(ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod),
    *(ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
    *(ast.Is, ast.IsNot, ast.In, ast.NotIn),
    *(ast.IfExp, ast.Tuple, ast.Subscript, ast.Call, ast.Name, ast.Constant, ast.Load),
)
_CONSTANTS = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class Expression:
    """A parsed expression.

    Attributes:
        text: The expression as written.
        names: The params, dims, splices and dtypes it reads.
        given: The inputs whose presence it reads.
        tensors: The tensors whose size it reads.
    """

    text: str
    names: frozenset[str]
    given: frozenset[str]
    tensors: frozenset[str]
    _node: ast.expr = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: object) -> Expression:
        """Read a text, a bool or a number; raise FormError where it is no expression."""
        if isinstance(text, bool | int):
            return cls.of(ast.Constant(text))
        return cls.of(parse(text))

    @classmethod
    def of(cls, node: ast.expr) -> Expression:
        """Wrap a Python expression that uses only what the manifest allows."""
        names: set[str] = set()
        reads: dict[str, set[str]] = {"given": set(), "numel": set(), "nbytes": set()}
        _collect(node, names, reads)
        return cls(
            ast.unparse(node),
            frozenset(names),
            frozenset(reads["given"]),
            frozenset(reads["numel"] | reads["nbytes"]),
            node,
        )

    @classmethod
    def all_of(cls, conditions: Sequence[Expression]) -> Expression:
        """Return the condition that several hold, each asked only where those before it do."""
        nodes = [one._node for one in conditions]
        if len(nodes) < 2:
            return conditions[0] if nodes else cls.of(ast.Constant(value=True))
        return cls.of(ast.BoolOp(ast.And(), nodes))

    def evaluate(self, scope: Scope) -> Any:
        """Return the value in a scope.

        Raises:
            ExpressionError: A name has no value, or an operation has no result.
        """
        if isinstance(self._node, ast.Constant):
            return self._node.value
        try:
            return evaluate(self._node, scope)
        except (ArithmeticError, TypeError, ValueError, LookupError) as error:
            values = self.shown(scope)
            raise ExpressionError(text=self.text, values=values, problem=str(error)) from error

    def function(self, places: Mapping[str, Place], scope: Scope) -> Callable[[Sequence[Any]], Any]:
        """Return the function from a row of values to the value of this expression.

        It raises what Python raises where ``evaluate`` raises ExpressionError.

        Args:
            places: Where in a row the values of some names stand.
            scope: The values of all others.

        Raises:
            LookupError: The expression reads something that has no value.
        """
        return function_of(self._node, places, scope)

    def narrowed(self, scope: Scope) -> Expression:
        """Return this expression, evaluated if the scope has everything it reads.

        The text and the names stay, for messages.
        """
        if self.given or self.tensors or not scope.binds(self.names):
            return self
        return replace(self, _node=ast.Constant(self.evaluate(scope)))

    def shown(self, scope: Scope, origins: Mapping[str, str] | None = None) -> str:
        """Return ``name = value`` of everything the expression reads, for messages.

        Args:
            scope: The values.
            origins: For a dim or a dtype variable, the tensor that bound it.
        """
        facts = []
        for name in sorted(self.names & scope.values.keys()):
            origin = (origins or {}).get(name)
            facts.append(f"{name} = {scope.values[name]}" + (f" of {origin}" if origin else ""))
        for name in sorted(self.given):
            facts.append(f"{name} {'given' if name in scope.given else 'absent'}")
        return ", ".join(facts)

    def __str__(self) -> str:
        return self.text


def _collect(node: ast.AST, names: set[str], reads: dict[str, set[str]]) -> None:
    if not isinstance(node, _ALLOWED):
        raise FormError(f"{type(node).__name__} has no place in an expression")
    if isinstance(node, ast.Call):
        _collect_call(node, names, reads)
        return
    if isinstance(node, ast.Name):
        names.add(node.id)
    if isinstance(node, ast.Constant) and not isinstance(node.value, _CONSTANTS):
        raise FormError(f"{ast.unparse(node)} is no constant of an expression")
    for child in ast.iter_child_nodes(node):
        _collect(child, names, reads)


def _collect_call(node: ast.Call, names: set[str], reads: dict[str, set[str]]) -> None:
    if not isinstance(node.func, ast.Name) or node.keywords:
        raise FormError(f"{ast.unparse(node)!r}: call a function by its name, without keywords")
    function = node.func.id
    if function in TENSOR_FUNCTIONS:
        match node.args:
            case [ast.Name(id=tensor)]:
                reads[function].add(tensor)
                return
        raise FormError(f"{ast.unparse(node)!r}: {function} takes the name of one tensor")
    if function not in FUNCTIONS:
        hint = nearest(function, [*FUNCTIONS, *TENSOR_FUNCTIONS])
        raise FormError(f"unknown function {function!r}{hint}")
    for argument in node.args:
        _collect(argument, names, reads)


ALWAYS = Expression.parse(True)
NEVER = Expression.parse(False)
