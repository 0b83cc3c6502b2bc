"""Shapes over named dims, splices and parameters."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tileops.manifest._cases import Case, cases, choose, narrowed
from tileops.manifest._expression import Expression
from tileops.manifest._form import FormError, parse
from tileops.manifest._scope import Scope


@dataclass(frozen=True)
class Axis:
    """One element of a shape.

    Attributes:
        size: Its size, or for a splice the tuple of its sizes.
        name: The dim, splice or parameter it is, or None for a derived size.
        splice: Whether it stands for any number of axes.
    """

    size: Expression
    name: str | None
    splice: bool = False

    @property
    def computed(self) -> bool:
        """Whether it is an expression over names, not a name or a number itself."""
        return self.name is None and bool(self.size.names)

    def __str__(self) -> str:
        return f"*{self.size}" if self.splice else str(self.size)


@dataclass(frozen=True)
class Shape:
    """A shape such as ``[*B, N]``, or ``[N, K] if trans_b else [K, N]``.

    An axis is a name, a splice ``*name``, a number or an expression over names that are bound
    elsewhere.

    Attributes:
        text: The shape as written.
        cases: Per case, the axes.
    """

    text: str
    cases: tuple[Case[tuple[Axis, ...]], ...]

    @classmethod
    def parse(cls, text: str) -> Shape:
        """Read a shape; raise FormError where it is none."""
        return cls(text, cases(parse(text), _axes))

    def choose(self, scope: Scope) -> tuple[Axis, ...]:
        """Return the axes in this scope."""
        return choose(self.cases, scope)

    def narrowed(self, scope: Scope) -> Shape:
        """Return the same with the conditions evaluated that the scope decides."""
        return Shape(self.text, narrowed(self.cases, scope))

    def __str__(self) -> str:
        return self.text


def _axes(node: ast.expr) -> tuple[Axis, ...]:
    if not isinstance(node, ast.List):
        raise FormError(f"{ast.unparse(node)!r} is no shape; write it like '[*B, N]'")
    return tuple(map(_axis, node.elts))


def _axis(node: ast.expr) -> Axis:
    match node:
        case ast.Starred(value=ast.Name(id=name) as inner):
            return Axis(Expression.of(inner), name, splice=True)
        case ast.Starred():
            raise FormError(f"{ast.unparse(node)!r}: a splice is a name")
        case ast.Name(id=name):
            return Axis(Expression.of(node), name)
    return Axis(Expression.of(node), None)
