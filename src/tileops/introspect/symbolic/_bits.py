"""Bits of integers as arithmetic."""

from __future__ import annotations

from tileops.introspect.formula import (
    Term,
    any_of,
    compare,
    const,
    negate,
    number,
    power_of_two,
)

__all__ = ["compared", "masked", "without_lowest_bit"]


def masked(term: Term, mask: int) -> Term:
    """Return ``term & mask``: each run of ones in the mask is a quotient and a remainder.

    Python's integers are infinite two's complement, so this holds for negative numbers too.
    """
    if mask < 0:
        return number("add", term, number("neg", masked(term, ~mask)))
    total = const(0)
    while mask:
        low = (mask & -mask).bit_length() - 1
        width = (~(mask >> low) & ((mask >> low) + 1)).bit_length() - 1
        run = number("mod", number("div", term, const(1 << low)), const(1 << width))
        total = number("add", total, number("mul", run, const(1 << low)))
        mask &= ~(((1 << width) - 1) << low)
    return total


def without_lowest_bit(term: Term) -> Term:
    """Return ``term & (term - 1)``."""
    return number("clearlow", term)


def compared(op: str, left: Term, right: Term) -> Term:
    """Return a comparison, with the usual tests for powers of two recognised.

    These are ``n & (n - 1) == 0`` and ``n & -n == n``, either way round; both hold of 0 too.
    """
    if op not in ("eq", "ne"):
        return compare(op, left, right)
    for one, other in ((left, right), (right, left)):
        tested = None
        if one.op == "clearlow" and other == const(0):
            tested = one.args[0]
        elif one.op == "add" and one == number(
            "add", other, number("neg", without_lowest_bit(other))
        ):
            tested = other
        if tested is not None:
            holds = any_of((power_of_two(tested), compare("eq", tested, const(0))))
            return holds if op == "eq" else negate(holds)
    return compare(op, left, right)
