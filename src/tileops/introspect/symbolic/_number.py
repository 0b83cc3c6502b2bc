"""SymbolicNumber: what the code sees of a numeric fact, and of everything computed from it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from tileops.introspect.formula import (
    FactDomain,
    Term,
    compare,
    const,
    fact,
    number,
    where,
)
from tileops.introspect.symbolic._bits import compared, masked, without_lowest_bit
from tileops.introspect.symbolic._proxies import SymbolicBool
from tileops.introspect.symbolic._translation import WIDEST_BITS

if TYPE_CHECKING:
    from tileops.introspect.symbolic._run import Run

__all__ = ["SymbolicNumber", "lifted"]

_REAL_ARITHMETIC = "floating-point arithmetic is taken as exact"
_LARGEST_POWER = 8


class SymbolicNumber:
    """An int or a float that is a term over the facts.

    Arithmetic makes terms, comparisons make `SymbolicBool`. Where Python needs the number itself
    (a hash, an index), a fact with few values takes each in turn; all else is given up.
    """

    __slots__ = ("fact", "is_real", "run", "term")

    def __init__(
        self, run: Run, term: Term, is_real: bool = False, fact: FactDomain | None = None
    ) -> None:
        self.run = run
        self.term = term
        self.is_real = is_real
        self.fact = fact

    @classmethod
    def of_fact(cls, run: Run, one: FactDomain) -> SymbolicNumber:
        """Return the value of a numeric fact."""
        return cls(run, fact(one.name), one.kind == "real", one)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return float if self.is_real else int

    # Arithmetic.

    def _made(self, op: str, *args: Term, is_real: bool) -> SymbolicNumber:
        if is_real and op != "neg":
            self.run.assume(_REAL_ARITHMETIC)
        return SymbolicNumber(self.run, number(op, *args), is_real)

    def _binary(self, op: str, other: Any, swapped: bool = False) -> Any:
        right = lifted(self, other)
        if right is None:
            return NotImplemented
        terms = (right.term, self.term) if swapped else (self.term, right.term)
        return self._made(op, *terms, is_real=self.is_real or right.is_real)

    def __add__(self, other: Any) -> Any:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Any:
        return self._binary("add", other, swapped=True)

    def __sub__(self, other: Any) -> Any:
        right = lifted(self, other)
        return NotImplemented if right is None else self + -right

    def __rsub__(self, other: Any) -> Any:
        left = lifted(self, other)
        return NotImplemented if left is None else left + -self

    def __mul__(self, other: Any) -> Any:
        return self._binary("mul", other)

    def __rmul__(self, other: Any) -> Any:
        return self._binary("mul", other, swapped=True)

    def __neg__(self) -> SymbolicNumber:
        return self._made("neg", self.term, is_real=self.is_real)

    def __pos__(self) -> SymbolicNumber:
        return self

    def __abs__(self) -> SymbolicNumber:
        positive = compare("ge", self.term, const(0))
        return SymbolicNumber(
            self.run, where(positive, self.term, number("neg", self.term)), self.is_real
        )

    def __invert__(self) -> Any:
        self._needs_int("~")
        return -self - 1

    def __floordiv__(self, other: Any) -> Any:
        right = lifted(self, other)
        return NotImplemented if right is None else _floor_divide(self, right)[0]

    def __rfloordiv__(self, other: Any) -> Any:
        left = lifted(self, other)
        return NotImplemented if left is None else _floor_divide(left, self)[0]

    def __mod__(self, other: Any) -> Any:
        right = lifted(self, other)
        return NotImplemented if right is None else _floor_divide(self, right)[1]

    def __rmod__(self, other: Any) -> Any:
        left = lifted(self, other)
        return NotImplemented if left is None else _floor_divide(left, self)[1]

    def __divmod__(self, other: Any) -> Any:
        right = lifted(self, other)
        return NotImplemented if right is None else _floor_divide(self, right)

    def __rdivmod__(self, other: Any) -> Any:
        left = lifted(self, other)
        return NotImplemented if left is None else _floor_divide(left, self)

    def __truediv__(self, other: Any) -> Any:
        right = lifted(self, other)
        return NotImplemented if right is None else _divide(self, right)

    def __rtruediv__(self, other: Any) -> Any:
        left = lifted(self, other)
        return NotImplemented if left is None else _divide(left, self)

    def __pow__(self, other: Any) -> Any:
        if type(other) is int and 0 <= other <= _LARGEST_POWER:
            power = SymbolicNumber(self.run, const(1), self.is_real)
            for _ in range(other):
                power = power * self
            return power
        return self.run.give_up(f"raises a symbolic number to the power {other!r}")

    def __rpow__(self, other: Any) -> Any:
        if type(other) is int and other == 2 and not self.is_real:
            return SymbolicNumber(self.run, _power_of_two(self))
        return self.run.give_up(f"raises {other!r} to a symbolic power")

    # Bits.

    def __lshift__(self, other: Any) -> Any:
        right = lifted(self, other)
        if right is None or self.is_real or right.is_real:
            return NotImplemented
        return self * SymbolicNumber(self.run, _shift(right))

    def __rlshift__(self, other: Any) -> Any:
        left = lifted(self, other)
        return NotImplemented if left is None else left << self

    def __rshift__(self, other: Any) -> Any:
        right = lifted(self, other)
        if right is None or self.is_real or right.is_real:
            return NotImplemented
        return self // SymbolicNumber(self.run, _shift(right))

    def __rrshift__(self, other: Any) -> Any:
        left = lifted(self, other)
        return NotImplemented if left is None else left >> self

    def __and__(self, other: Any) -> Any:
        self._needs_int("&")
        right = lifted(self, other)
        if right is None:
            return NotImplemented
        for x, y in ((self, right), (right, self)):
            if y.term.op == "const":
                return SymbolicNumber(self.run, masked(x.term, y.term.args[0]))
            if y.term in (number("add", x.term, const(-1)), number("add", const(-1), x.term)):
                _within_widest(abs(x))
                return SymbolicNumber(self.run, without_lowest_bit(x.term))
            if y.term == number("neg", x.term):
                _within_widest(abs(x))
                rest = number("neg", without_lowest_bit(x.term))
                return SymbolicNumber(self.run, number("add", x.term, rest))
        return self.run.give_up("combines the bits of two symbolic numbers")

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return self + other - (self & other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        return self + other - 2 * (self & other)

    __rxor__ = __xor__

    def bit_length(self) -> SymbolicNumber:
        """Return the number of bits, as ``int.bit_length`` does."""
        self._needs_int("bit_length")
        _within_widest(abs(self))
        return SymbolicNumber(self.run, number("bitlen", self.term))

    def is_integer(self) -> SymbolicBool:
        """Return whether the number is whole, as ``float.is_integer`` does."""
        return SymbolicBool(self.run, compare("eq", number("floor", self.term), self.term))

    # Comparisons.

    def _compared(self, op: str, other: Any) -> Any:
        if isinstance(other, float) and type(other) is float and not math.isfinite(other):
            # Facts are finite; nothing compares to NaN, everything lies between the infinities.
            return op == "ne" or (
                not math.isnan(other) and (op[0] == "l") == (other > 0) and op != "eq"
            )
        right = lifted(self, other)
        if right is None:
            return NotImplemented
        return SymbolicBool(self.run, compared(op, self.term, right.term))

    def __lt__(self, other: Any) -> Any:
        return self._compared("lt", other)

    def __le__(self, other: Any) -> Any:
        return self._compared("le", other)

    def __gt__(self, other: Any) -> Any:
        return self._compared("gt", other)

    def __ge__(self, other: Any) -> Any:
        return self._compared("ge", other)

    def __eq__(self, other: object) -> Any:
        return self._compared("eq", other)

    def __ne__(self, other: object) -> Any:
        return self._compared("ne", other)

    def __bool__(self) -> bool:
        return self.run.branch(compared("ne", self.term, const(0)))

    # Rounding.

    def __floor__(self) -> SymbolicNumber:
        return SymbolicNumber(self.run, self._floored(self.term))

    def __ceil__(self) -> SymbolicNumber:
        return SymbolicNumber(self.run, number("neg", self._floored(number("neg", self.term))))

    def __trunc__(self) -> SymbolicNumber:
        if not self.is_real:
            return self
        positive = self.run.branch(compare("ge", self.term, const(0)))
        return self.__floor__() if positive else self.__ceil__()

    def __round__(self, digits: int | None = None) -> Any:
        if not self.is_real and digits is None:
            return self
        return self.run.give_up("rounds a symbolic number")

    def _floored(self, term: Term) -> Term:
        return number("floor", term) if self.is_real else term

    # Where Python needs the number itself.

    def _concrete(self, purpose: str) -> Any:
        if self.fact is not None and self.fact.countable:
            return self.run.pick(self.fact)
        return self.run.give_up(f"{purpose} a symbolic number")

    def __hash__(self) -> int:
        return hash(self._concrete("hashes"))

    def __index__(self) -> int:
        if self.is_real:
            raise TypeError("'float' object cannot be interpreted as an integer")
        found: int = self._concrete("needs the value of")
        return found

    def __int__(self) -> int:
        return int(self._concrete("calls int() in C on"))

    def __float__(self) -> float:
        return float(self._concrete("calls float() in C on"))

    def __format__(self, spec: str) -> str:
        return self._unseen("formats")

    def __str__(self) -> str:
        return self._unseen("formats")

    def __repr__(self) -> str:
        return self._unseen("formats")

    def _unseen(self, what: str) -> NoReturn:
        self.run.give_up(f"{what} a symbolic number where its use cannot be followed")

    def __copy__(self) -> SymbolicNumber:
        return self

    def __deepcopy__(self, memo: Any) -> SymbolicNumber:
        return self

    def __getattr__(self, name: str) -> Any:
        kind = float if self.is_real else int
        if not hasattr(kind, name):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        return self.run.give_up(f"calls {kind.__name__}.{name} of a symbolic number")

    def _needs_int(self, what: str) -> None:
        if self.is_real:
            raise TypeError(f"bad operand type for {what}: 'float'")


def lifted(beside: SymbolicNumber, value: Any) -> SymbolicNumber | None:
    """Return a number of any kind as a symbolic one; None for what is no number."""
    if type(value) is SymbolicNumber:
        return value
    if type(value) is SymbolicBool:
        return SymbolicNumber(beside.run, where(value.term, const(1), const(0)))
    if isinstance(value, int):
        return SymbolicNumber(beside.run, const(int(value)))
    if isinstance(value, float):
        if not math.isfinite(value):
            beside.run.give_up(f"computes with {value!r}")
        return SymbolicNumber(beside.run, const(Fraction(value)), True)
    if isinstance(value, Fraction):
        return SymbolicNumber(beside.run, const(value), True)
    return None


def _floor_divide(
    dividend: SymbolicNumber, divisor: SymbolicNumber
) -> tuple[SymbolicNumber, SymbolicNumber]:
    run = dividend.run
    if dividend.is_real or divisor.is_real:
        quotient = SymbolicNumber(run, number("floor", _divide(dividend, divisor).term), True)
        return quotient, dividend - quotient * divisor
    if divisor.fact is not None and divisor.fact.values:
        # A device fact: its few values keep the arithmetic linear.
        divisor = SymbolicNumber(run, const(run.pick(divisor.fact)))
    if run.branch(compare("eq", divisor.term, const(0))):
        raise ZeroDivisionError("integer division or modulo by zero")
    top, bottom = dividend.term, divisor.term
    negative = not run.branch(compare("gt", bottom, const(0)))
    if negative:
        top, bottom = number("neg", top), number("neg", bottom)
    rest = number("mod", top, bottom)
    return (
        SymbolicNumber(run, number("div", top, bottom)),
        SymbolicNumber(run, number("neg", rest) if negative else rest),
    )


def _divide(dividend: SymbolicNumber, divisor: SymbolicNumber) -> SymbolicNumber:
    run = dividend.run
    if run.branch(compare("eq", divisor.term, const(0))):
        raise ZeroDivisionError("division by zero")
    run.assume(_REAL_ARITHMETIC)
    return SymbolicNumber(run, number("quot", dividend.term, divisor.term), True)


def _shift(amount: SymbolicNumber) -> Term:
    if amount.run.branch(compare("lt", amount.term, const(0))):
        raise ValueError("negative shift count")
    return _power_of_two(amount)


def _power_of_two(exponent: SymbolicNumber) -> Term:
    run = exponent.run
    if exponent.term.op != "const":
        outside = compare("gt", exponent.term, const(WIDEST_BITS))
        if run.branch(compare("lt", exponent.term, const(0))) or run.branch(outside):
            run.give_up(f"computes 2 ** n for n outside 0 to {WIDEST_BITS}")
    return number("exp2", exponent.term)


def _within_widest(value: SymbolicNumber) -> None:
    if not value.run.branch(compare("lt", value.term, const(1 << WIDEST_BITS))):
        value.run.give_up(f"asks for bits beyond the {WIDEST_BITS}th")
