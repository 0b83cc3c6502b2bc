"""Terms: arithmetic and conditions over the facts of a call, as immutable trees.

Python's meaning throughout: ``div`` and ``mod`` round towards minus infinity, integers have no
width, real numbers are exact. A term is built through the functions here, which fold constants.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, Final, cast

__all__ = [
    "COMPARISONS",
    "FALSE",
    "TRUE",
    "Term",
    "Value",
    "all_of",
    "any_of",
    "compare",
    "const",
    "fact",
    "is_none",
    "member",
    "negate",
    "number",
    "power_of_two",
    "typed",
    "value_of",
    "where",
    "without_shared_end",
]

Value = bool | int | Fraction | str | None
"""A fact's value in canonical form: a dtype or an enum member is its name."""


class Term:
    """An operator and its arguments; equal terms have equal structure."""

    __slots__ = ("_hash", "args", "op")

    def __init__(self, op: str, *args: Any) -> None:
        self.op: Final = op
        self.args: Final = args
        self._hash = hash((op, *map(typed, args)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Term) or self._hash != other._hash or self.op != other.op:
            return False
        return list(map(typed, self.args)) == list(map(typed, other.args))

    def __repr__(self) -> str:
        return f"Term({', '.join(map(repr, (self.op, *self.args)))})"


def typed(value: Any) -> Any:
    """Return something that keeps True and 1 apart, which Python calls equal."""
    return (value, bool) if isinstance(value, bool) else value


def const(value: bool | int | Fraction) -> Term:
    """Return a constant."""
    return Term("const", value)


TRUE: Final = const(True)
FALSE: Final = const(False)


def fact(name: str) -> Term:
    """Return the value of a numeric fact."""
    return Term("fact", name)


def member(name: str, values: Iterable[Value]) -> Term:
    """Return whether a fact of finite kind has one of *values*."""
    chosen = tuple(dict.fromkeys(values))
    return Term("in", name, *chosen) if chosen else FALSE


def is_none(name: str) -> Term:
    """Return whether an optional fact is None."""
    return member(name, (None,))


def value_of(term: Term) -> Any:
    """Return the value of a constant; None for every other term."""
    return term.args[0] if term.op == "const" else None


_ARITHMETIC: Final[dict[str, Callable[..., Any]]] = {
    "add": operator.add,
    "mul": operator.mul,
    "neg": operator.neg,
    "div": operator.floordiv,
    "mod": operator.mod,
    "quot": lambda a, b: Fraction(a) / Fraction(b),
    "floor": lambda a: a // 1,
    "bitlen": lambda a: a.bit_length(),
    "exp2": lambda a: 1 << a,
    "clearlow": lambda a: a & (a - 1),
}


_NEUTRAL: Final = {"add": 0, "mul": 1}


def number(op: str, *args: Term) -> Term:
    """Return an arithmetic term: add, mul, neg, div, mod, quot, floor, bitlen, exp2 or clearlow.

    The divisor of ``div`` and ``mod`` is positive wherever the term is evaluated, and ``quot``'s
    is not zero; whoever builds the term sees to it.
    """
    values = [value_of(arg) for arg in args]
    if all(value is not None for value in values):
        return const(_ARITHMETIC[op](*values))
    if op in _NEUTRAL:
        return _sum_or_product(op, *args)
    if op == "neg" and args[0].op == "neg":
        return cast(Term, args[0].args[0])
    if op in ("div", "mod") and values[1] == 1:
        return args[0] if op == "div" else const(0)
    return Term(op, *args)


def _sum_or_product(op: str, left: Term, right: Term) -> Term:
    values = value_of(left), value_of(right)
    if _NEUTRAL[op] in values:
        return right if values[0] == _NEUTRAL[op] else left
    if op == "mul" and 0 in values:
        return const(0)
    if values[1] is not None and value_of(_last(left, op)) is not None:
        # (x + 1) + 1 is x + 2: loops would otherwise grow terms without end.
        inner, constant = left.args
        return number(op, inner, number(op, constant, right))
    return Term(op, left, right)


def _last(term: Term, op: str) -> Term:
    """Return the right part of a term with this operator; the term itself of any other."""
    part: Term = term.args[1] if term.op == op else term
    return part


COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}

_OPPOSITE: Final = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}


def compare(op: str, left: Term, right: Term) -> Term:
    """Return a comparison of two numbers."""
    a, b = value_of(left), value_of(right)
    if a is not None and b is not None:
        return const(COMPARISONS[op](a, b))
    if left == right:
        return const(op in ("eq", "le", "ge"))
    return Term(op, left, right)


def power_of_two(term: Term) -> Term:
    """Return whether a number is a power of two, 1 included."""
    value = value_of(term)
    return Term("pow2", term) if value is None else const(value > 0 and value & (value - 1) == 0)


def negate(term: Term) -> Term:
    """Return the opposite condition."""
    if term.op == "const":
        return FALSE if term.args[0] else TRUE
    if term.op == "not":
        return cast(Term, term.args[0])
    if term.op in _OPPOSITE:
        return Term(_OPPOSITE[term.op], *term.args)
    if term.op in ("and", "or"):
        # Order is kept: a later part may be defined only where the earlier ones hold.
        opposite = any_of if term.op == "and" else all_of
        return opposite(negate(part) for part in term.args)
    return Term("not", term)


def all_of(terms: Iterable[Term]) -> Term:
    """Return the conjunction; parts are evaluated in order, up to the first false one."""
    return _junction("and", terms, FALSE, TRUE)


def any_of(terms: Iterable[Term]) -> Term:
    """Return the disjunction; parts are evaluated in order, up to the first true one."""
    return _junction("or", terms, TRUE, FALSE)


def _junction(op: str, terms: Iterable[Term], absorbing: Term, neutral: Term) -> Term:
    parts: dict[Term, None] = {}
    for term in terms:
        for part in term.args if term.op == op else (term,):
            if part == absorbing:
                # What stands before may be undefined without it only where it is evaluated.
                return absorbing
            if part != neutral:
                parts[part] = None
    if not parts:
        return neutral
    left = _without_weaker(op, parts)
    return left[0] if len(left) == 1 else Term(op, *left)


_BOUND: Final = {
    "lt": ("above", True),
    "le": ("above", False),
    "gt": ("below", True),
    "ge": ("below", False),
}


def _without_weaker(op: str, parts: Iterable[Term]) -> list[Term]:
    """Keep of several bounds of one term the one that decides, where the first of them stands.

    What stands between was evaluated where the first one allowed it, and now is where all do.
    """
    kept: dict[Any, Term] = {}
    for part in parts:
        side = _BOUND.get(part.op)
        if side is None or value_of(part.args[1]) is None:
            kept[part] = part
            continue
        known = kept.setdefault((side[0], part.args[0]), part)
        if (_strictness(part) > _strictness(known)) == (op == "and"):
            kept[side[0], part.args[0]] = part
    return list(kept.values())


def _strictness(bound: Term) -> tuple[Any, bool]:
    side, open_ended = _BOUND[bound.op]
    limit = value_of(bound.args[1])
    return (-limit if side == "above" else limit, open_ended)


def where(condition: Term, then: Term, otherwise: Term) -> Term:
    """Return *then* where the condition holds, else *otherwise*."""
    if condition.op == "const":
        return then if condition.args[0] else otherwise
    if then == otherwise:
        return then
    for side, other, holds in ((then, otherwise, condition), (otherwise, then, negate(condition))):
        if side == TRUE:
            return any_of((holds, other))
        if side == FALSE:
            return all_of((negate(holds), other))
    (then, otherwise), shared = without_shared_end((then, otherwise))
    if shared != TRUE:
        return all_of((where(condition, then, otherwise), shared))
    return _cases(condition, then, otherwise)


def _cases(condition: Term, then: Term, otherwise: Term) -> Term:
    """Join nested cases that come to the same; what is asked second stays second."""
    if otherwise.op == "ite" and otherwise.args[1] == then:
        return where(any_of((condition, otherwise.args[0])), then, otherwise.args[2])
    if then.op == "ite" and then.args[2] == otherwise:
        return where(all_of((condition, then.args[0])), then.args[1], otherwise)
    return Term("ite", condition, then, otherwise)


def without_shared_end(terms: Sequence[Term]) -> tuple[list[Term], Term]:
    """Split off the conjuncts that all *terms* end with, and return these too.

    Only an end can be split off: what follows a conjunct may be defined only where it holds.
    """
    parts = [list(one.args) if one.op == "and" else [one] for one in terms]
    shared: list[Term] = []
    while all(parts) and all(one[-1] == parts[0][-1] for one in parts):
        shared.insert(0, parts[0][-1])
        parts = [one[:-1] for one in parts]
    return [all_of(one) for one in parts], all_of(shared)
