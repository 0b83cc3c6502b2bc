"""Terms as a reader of the code would write them: ``n % 8 == 0``, ``dtype is float16``."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from tileops.introspect.formula._term import Term, Value, negate

__all__ = ["exact", "render", "spell"]

_SIGNS: Final = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_OPERATORS: Final = {"add": "+", "mul": "*", "div": "//", "mod": "%", "quot": "/"}


def spell(value: Value) -> str:
    """Spell a fact's value as the command line takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Fraction):
        return str(value.numerator) if value.denominator == 1 else repr(float(value))
    return str(value)


def exact(value: Value) -> bool | int | float | str | None:
    """Return a fact's value as JSON holds it: a real number as the float it is."""
    return float(value) if isinstance(value, Fraction) else value


def render(term: Term) -> str:
    """Return *term* as an expression."""
    special = _SPECIAL.get(term.op)
    return special(*term.args) if special is not None else _render_pair(term.op, *term.args)


def _render_junction(op: str, parts: tuple[Term, ...]) -> str:
    return f" {op} ".join(_within(op, part) for part in parts)


def _render_ite(condition: Term, then: Term, otherwise: Term) -> str:
    if condition.op == "not" or (condition.op == "in" and condition.args[1:] == (False,)):
        condition, then, otherwise = negate(condition), otherwise, then
    # Cases follow one another without brackets only behind "else".
    first, asked = _within("ite", then, strictly=True), _within("ite", condition, strictly=True)
    return f"{first} if {asked} else {_within('ite', otherwise)}"


def _render_pair(op: str, left: Term, right: Term) -> str:
    if op == "add" and right.op == "neg":
        return f"{_within(op, left)} - {_within('mul', right.args[0])}"
    if op == "add" and right.op == "const" and right.args[0] < 0:
        return f"{_within(op, left)} - {spell(-right.args[0])}"
    sign = _SIGNS.get(op) or _OPERATORS[op]
    # Equal operators group to the left; where any grouping comes to the same, none is shown.
    after = _within(op, right) if op in ("add", "eq", "mul") else _within(op, right, strictly=True)
    return f"{_within(op, left)} {sign} {after}"


def _render_membership(name: str, *values: Value) -> str:
    if values[0] is True and len(values) == 1:
        return name
    if values[0] is False and len(values) == 1:
        return f"not {name}"
    return f"{name} is {_listed(values)}"


def _listed(values: tuple[Value, ...]) -> str:
    *most, last = map(spell, values)
    return f"{', '.join(most)} or {last}" if most else last


def _render_negation(term: Term) -> str:
    if term.op == "in":
        if len(term.args) == 2 and isinstance(term.args[1], bool):
            return render(Term("in", term.args[0], not term.args[1]))
        return f"{term.args[0]} is not {_listed(term.args[1:])}"
    if term.op == "pow2":
        return f"{_within('pow2', term.args[0])} is no power of two"
    opposite = negate(term)
    return render(opposite) if opposite.op != "not" else f"not ({render(term)})"


_SPECIAL: Final[dict[str, Callable[..., str]]] = {
    "const": spell,
    "fact": str,
    "in": _render_membership,
    "not": _render_negation,
    "and": lambda *parts: _render_junction("and", parts),
    "or": lambda *parts: _render_junction("or", parts),
    "ite": _render_ite,
    "pow2": lambda inner: f"{_within('pow2', inner)} is a power of two",
    "neg": lambda inner: f"-{_within('neg', inner)}",
    "floor": lambda inner: f"floor({render(inner)})",
    "bitlen": lambda inner: f"bit_length({render(inner)})",
    "exp2": lambda inner: f"2 ** {_within('neg', inner)}",
    "clearlow": lambda inner: f"clear_lowest_bit({render(inner)})",
}

_BINDING: Final = {
    **{"ite": 0, "or": 1, "and": 2, "not": 3, "in": 3, "pow2": 3},
    **dict.fromkeys(_SIGNS, 4),
    **{"add": 5, "mul": 6, "div": 6, "mod": 6, "quot": 6, "neg": 7},
}


def _within(op: str, term: Term, strictly: bool = False) -> str:
    """Return a part of a term with this operator, in brackets where reading needs them."""
    text = render(term)
    own, outer = _BINDING.get(term.op, 8), _BINDING.get(op, 8)
    if term.op == "in" and " is " not in text:
        own = 8
    mixed = own == outer == 6 and term.op != op
    return f"({text})" if own < outer or (own == outer and strictly) or mixed else text
