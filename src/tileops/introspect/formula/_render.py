"""Terms as a reader of the code would write them: ``n % 8 == 0``, ``dtype is float16``."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from tileops.introspect.formula._term import Term, Value, negate

__all__ = ["render", "spell"]

_SIGNS: Final = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_OPERATORS: Final = {"add": "+", "mul": "*", "div": "//", "mod": "%", "quot": "/"}
_FUNCTIONS: Final = {
    "floor": "floor",
    "bitlen": "bit_length",
    "exp2": "2 **",
    "clearlow": "clear_lowest_bit",
}


def spell(value: Value) -> str:
    """Spell a fact's value as the command line takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Fraction):
        return str(value.numerator) if value.denominator == 1 else repr(float(value))
    return str(value)


def render(term: Term) -> str:
    """Return *term* as an expression."""
    op, args = term.op, term.args
    if op == "const":
        return spell(args[0])
    if op == "fact":
        return str(args[0])
    if op == "in":
        return _render_membership(args[0], args[1:])
    if op == "not":
        return _render_negation(args[0])
    if op in ("and", "or"):
        return f" {op} ".join(_within(op, part) for part in args)
    if op == "ite":
        condition, then, otherwise = (_within(op, part) for part in args)
        return f"{then} if {condition} else {otherwise}"
    if op == "pow2":
        return f"{_within(op, args[0])} is a power of two"
    if op in _FUNCTIONS:
        return f"{_FUNCTIONS[op]}({render(args[0])})"
    if op == "neg":
        return f"-{_within(op, args[0])}"
    return _render_pair(op, *args)


def _render_pair(op: str, left: Term, right: Term) -> str:
    if op == "add" and right.op == "neg":
        return f"{_within(op, left)} - {_within('mul', right.args[0])}"
    if op == "add" and right.op == "const" and right.args[0] < 0:
        return f"{_within(op, left)} - {spell(-right.args[0])}"
    sign = _SIGNS.get(op) or _OPERATORS[op]
    # Equal operators group to the left.
    after = _within(op, right) if op in ("add", "eq") else _within(op, right, strictly=True)
    return f"{_within(op, left)} {sign} {after}"


def _render_membership(name: str, values: tuple[Value, ...]) -> str:
    if values[0] is True and len(values) == 1:
        return name
    if values[0] is False and len(values) == 1:
        return f"not {name}"
    spelled = [spell(value) for value in values]
    listed = spelled[0] if len(spelled) == 1 else f"{', '.join(spelled[:-1])} or {spelled[-1]}"
    return f"{name} is {listed}"


def _render_negation(term: Term) -> str:
    if term.op == "in":
        if len(term.args) == 2 and isinstance(term.args[1], bool):
            return render(Term("in", term.args[0], not term.args[1]))
        return _render_membership(f"{term.args[0]} is not", term.args[1:]).replace(
            "is not is", "is not", 1
        )
    if term.op == "pow2":
        return f"{_within('pow2', term.args[0])} is no power of two"
    opposite = negate(term)
    return render(opposite) if opposite.op != "not" else f"not ({render(term)})"


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
