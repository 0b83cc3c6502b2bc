"""Evaluating terms on concrete calls: a term becomes a Python function of the facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tileops.introspect.formula._term import COMPARISONS, Term, Value, typed

__all__ = ["compiled", "evaluate"]

Values = Mapping[str, Value]


def evaluate(term: Term, values: Values) -> Any:
    """Return the value of *term* where the facts have *values*."""
    return compiled(term)(values)


@lru_cache(maxsize=65536)
def compiled(term: Term) -> Callable[[Values], Any]:
    """Return the function that evaluates *term*.

    Junctions stop at the first part that decides, as the code that the term stands for does.
    """
    op = term.op
    if op == "const":
        value = term.args[0]
        return lambda values: value
    if op == "fact":
        name = term.args[0]
        return lambda values: values[name]
    if op == "in":
        name, allowed = term.args[0], frozenset(map(typed, term.args[1:]))
        return lambda values: typed(values[name]) in allowed
    parts = tuple(compiled(part) for part in term.args)
    return _junction(op, parts) if op in ("and", "or", "not", "ite") else _operation(op, parts)


def _junction(op: str, parts: tuple[Callable[[Values], Any], ...]) -> Callable[[Values], Any]:
    if op == "and":
        return lambda values: all(part(values) for part in parts)
    if op == "or":
        return lambda values: any(part(values) for part in parts)
    if op == "not":
        (inner,) = parts
        return lambda values: not inner(values)
    condition, then, otherwise = parts
    return lambda values: then(values) if condition(values) else otherwise(values)


def _operation(op: str, parts: tuple[Callable[[Values], Any], ...]) -> Callable[[Values], Any]:
    if len(parts) == 1:
        (inner,) = parts
        unary = _UNARY[op]
        return lambda values: unary(inner(values))
    left, right = parts
    binary = COMPARISONS.get(op) or _BINARY[op]
    return lambda values: binary(left(values), right(values))


_UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": lambda a: -a,
    "floor": lambda a: a // 1,
    "bitlen": lambda a: a.bit_length(),
    "exp2": lambda a: 1 << a,
    "clearlow": lambda a: a & (a - 1),
    "pow2": lambda a: a > 0 and a & (a - 1) == 0,
}

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "quot": lambda a, b: Fraction(a) / Fraction(b),
}
