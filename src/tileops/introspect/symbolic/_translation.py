"""Terms as z3 expressions over the variables of a domain, and z3 models as calls."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from typing import Any, Final

import z3

from tileops.introspect.formula import Domain, FactDomain, Term, Value

__all__ = ["WIDEST_BITS", "Translation"]

WIDEST_BITS: Final = 64
"""Bit lengths and powers of two are spelt out up to here; exploration gives up beyond."""


class Translation:
    """The variables of a domain, and the expressions made of them so far."""

    def __init__(self, domain: Domain) -> None:
        self._facts = {one.name: one for one in domain.all_facts}
        self._variables = {name: _variable(one) for name, one in self._facts.items()}
        self._none = {
            name: z3.Bool(f"{name} is none")
            for name, one in self._facts.items()
            if one.optional and one.kind != "choice"
        }
        self._known: dict[Term, Any] = {}

    def variable(self, name: str) -> Any:
        """Return the variable of a numeric fact."""
        return self._variables[name]

    def none(self, name: str) -> Any:
        """Return the variable for an optional number being None, or None for another fact."""
        return self._none.get(name)

    def ranges(self) -> list[Any]:
        """Return what holds of every variable by itself."""
        found = []
        for name, one in self._facts.items():
            variable = self._variables[name]
            if one.kind == "choice":
                if not z3.is_bool(variable):
                    found += [variable >= 0, variable < len(one.choices)]
            elif one.values:
                found.append(z3.Or([variable == value for value in one.values]))
            else:
                found += [] if one.low is None else [variable >= _exact(one.low)]
                found += [] if one.high is None else [variable <= _exact(one.high)]
        return found

    def __call__(self, term: Term) -> Any:
        """Return the expression of a term."""
        known = self._known.get(term)
        if known is None:
            known = self._known[term] = self._translate(term)
        return known

    def values(self, model: Any) -> dict[str, Value]:
        """Return the call that a z3 model describes."""
        found: dict[str, Value] = {}
        for name, one in self._facts.items():
            value = model.eval(self._variables[name], model_completion=True)
            if one.kind == "choice":
                code = int(not z3.is_true(value)) if z3.is_bool(value) else value.as_long()
                found[name] = one.choices[code]
            elif name in self._none and z3.is_true(model.eval(self._none[name])):
                found[name] = None
            else:
                found[name] = value.as_long() if one.kind == "int" else _fraction(value)
        return found

    def _translate(self, term: Term) -> Any:
        op, args = term.op, term.args
        if op == "const":
            return z3.BoolVal(args[0]) if isinstance(args[0], bool) else _exact(args[0])
        if op == "fact":
            return self._variables[args[0]]
        if op == "in":
            return self._membership(args[0], args[1:])
        parts = [self(part) for part in args]
        if op in _JUNCTIONS:
            return _JUNCTIONS[op](*parts)
        if op in ("ite", "add", "mul", "eq", "ne", "lt", "le", "gt", "ge"):
            parts = [*parts[:-2], *_one_sort(*parts[-2:])]
        return _OPERATIONS[op](*parts)

    def _membership(self, name: str, values: tuple[Value, ...]) -> Any:
        one = self._facts[name]
        variable = self._variables[name]
        if one.kind == "choice":
            codes = [one.choices.index(value) for value in values if value in one.choices]
            if z3.is_bool(variable):
                return z3.Or([variable if code == 0 else z3.Not(variable) for code in codes])
            return z3.Or([variable == code for code in codes])
        none = self._none.get(name, z3.BoolVal(False))
        numbers = [z3.And(z3.Not(none), variable == v) for v in values if v is not None]
        return z3.Or([*([none] if None in values else []), *numbers])


def _variable(one: FactDomain) -> Any:
    if one.kind == "choice":
        return z3.Bool(one.name) if len(one.choices) == 2 else z3.Int(one.name)
    return z3.Int(one.name) if one.kind == "int" else z3.Real(one.name)


def _exact(value: int | Fraction) -> Any:
    if isinstance(value, Fraction) and value.denominator != 1:
        return z3.Q(value.numerator, value.denominator)
    return z3.IntVal(int(value))


def _fraction(value: Any) -> Fraction:
    if z3.is_algebraic_value(value):
        value = value.approx(20)
    return Fraction(value.numerator_as_long(), value.denominator_as_long())


def _one_sort(left: Any, right: Any) -> tuple[Any, Any]:
    if left.sort() == right.sort():
        return left, right
    return _real(left), _real(right)


def _real(value: Any) -> Any:
    return z3.ToReal(value) if z3.is_int(value) else value


def _bit_length(value: Any) -> Any:
    size = z3.If(value < 0, -value, value)
    lengths = range(WIDEST_BITS - 1, -1, -1)
    return reduce(lambda rest, k: z3.If(size < (1 << k), k, rest), lengths, z3.IntVal(WIDEST_BITS))


def _without_lowest_bit(value: Any) -> Any:
    bits = range(WIDEST_BITS, -1, -1)
    lowest = reduce(lambda rest, k: z3.If(value % (2 << k) != 0, 1 << k, rest), bits, z3.IntVal(0))
    return value - lowest


def _power(exponent: Any) -> Any:
    powers = range(WIDEST_BITS, -1, -1)
    return reduce(lambda rest, k: z3.If(exponent == k, z3.IntVal(1 << k), rest), powers, 0)


_JUNCTIONS: Final[dict[str, Any]] = {"and": z3.And, "or": z3.Or, "not": z3.Not}

_OPERATIONS: Final[dict[str, Any]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    # z3 divides so that the remainder is not negative: Python's way, for a positive divisor.
    "div": lambda a, b: a / b,
    "mod": lambda a, b: a % b,
    "quot": lambda a, b: _real(a) / _real(b),
    "floor": lambda a: a if z3.is_int(a) else z3.ToInt(a),
    "bitlen": _bit_length,
    "exp2": _power,
    "clearlow": _without_lowest_bit,
    "ite": z3.If,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "pow2": lambda a: z3.Or([a == (1 << k) for k in range(WIDEST_BITS + 1)]),
}
