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
        return f" {op} ".join(_bracketed(part) for part in args)
    if op == "ite":
        condition, then, otherwise = map(_bracketed, args)
        return f"{then} if {condition} else {otherwise}"
    if op == "pow2":
        return f"{_bracketed(args[0])} is a power of two"
    if op in _FUNCTIONS:
        return f"{_FUNCTIONS[op]}({render(args[0])})"
    if op == "neg":
        return f"-{_bracketed(args[0])}"
    left, right = args
    if op == "add" and right.op == "neg":
        return f"{_bracketed(left)} - {_bracketed(right.args[0])}"
    if op == "add" and right.op == "const" and right.args[0] < 0:
        return f"{_bracketed(left)} - {spell(-right.args[0])}"
    if op in _SIGNS:
        return f"{_operand(left)} {_SIGNS[op]} {_operand(right)}"
    return f"{_bracketed(left)} {_OPERATORS[op]} {_bracketed(right)}"


def _render_membership(name: str, values: tuple[Value, ...]) -> str:
    if values == (True,):
        return name
    if values == (False,):
        return f"not {name}"
    spelled = [spell(value) for value in values]
    listed = spelled[0] if len(spelled) == 1 else f"{', '.join(spelled[:-1])} or {spelled[-1]}"
    return f"{name} is {listed}"


def _render_negation(term: Term) -> str:
    if term.op == "in":
        if term.args[1:] == (True,):
            return f"not {term.args[0]}"
        if term.args[1:] == (False,):
            return str(term.args[0])
        return _render_membership(f"{term.args[0]} is not", term.args[1:]).replace(
            "is not is", "is not", 1
        )
    if term.op == "pow2":
        return f"{_bracketed(term.args[0])} is no power of two"
    opposite = negate(term)
    return render(opposite) if opposite.op != "not" else f"not ({render(term)})"


_ATOMIC: Final = frozenset({"const", "fact", "in", "not", "floor", "bitlen", "neg"})


def _bracketed(term: Term) -> str:
    text = render(term)
    return text if term.op in _ATOMIC or term.op in _SIGNS else f"({text})"


def _operand(term: Term) -> str:
    """Bracket a side of a comparison only where reading needs it: sums and products do not."""
    text = render(term)
    return text if term.op in _ATOMIC or term.op in _OPERATORS else f"({text})"
