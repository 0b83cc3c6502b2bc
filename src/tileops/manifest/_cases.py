"""``X if condition else Y``: one form for shapes and dtypes that parameters choose."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from tileops.manifest._expression import ALWAYS, Expression
from tileops.manifest._scope import Scope

T = TypeVar("T")


@dataclass(frozen=True)
class Case(Generic[T]):
    """A value and the condition under which it holds, unless an earlier case does."""

    when: Expression
    value: T


def cases(node: ast.expr, leaf: Callable[[ast.expr], T]) -> tuple[Case[T], ...]:
    """Flatten a chain of conditional expressions; the last case always holds."""
    if isinstance(node, ast.IfExp):
        first = Case(Expression.of(node.test), leaf(node.body))
        return (first, *cases(node.orelse, leaf))
    return (Case(ALWAYS, leaf(node)),)


def choose(options: tuple[Case[T], ...], scope: Scope) -> T:
    """Return the value of the first case that holds."""
    *conditional, last = options
    for case in conditional:
        if case.when.evaluate(scope):
            return case.value
    return last.value


def narrowed(options: tuple[Case[T], ...], scope: Scope) -> tuple[Case[T], ...]:
    """Return the cases with the conditions evaluated that the scope decides."""
    return tuple(replace(case, when=case.when.narrowed(scope)) for case in options)
