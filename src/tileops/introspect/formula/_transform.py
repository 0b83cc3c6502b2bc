"""Looking into terms and making others of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Final, cast

from tileops.introspect.formula._term import (
    COMPARISONS,
    FALSE,
    TRUE,
    Term,
    Value,
    all_of,
    any_of,
    compare,
    const,
    member,
    negate,
    number,
    power_of_two,
    typed,
    where,
)

__all__ = ["atoms", "facts_of", "restricted", "substituted"]


def restricted(term: Term, choices: Mapping[str, Collection[Value]]) -> Term:
    """Return a formula simplified for facts that have no values but *choices*, by their names."""
    if term.op == "in" and term.args[0] in choices:
        name, *values = term.args
        kept = [value for value in values if value in choices[name]]
        return TRUE if len(kept) == len(choices[name]) else member(name, kept)
    if term.op not in _JUNCTIONS:
        return term
    return _rebuilt(term.op, [restricted(part, choices) for part in term.args])


def substituted(term: Term, name: str, by: Term | Value) -> Term:
    """Return a term with a fact replaced: a numeric one by a term, any fact by a value."""
    if term.op == "fact" and term.args[0] == name:
        return by if isinstance(by, Term) else const(cast(int, by))
    if term.op == "in" and term.args[0] == name:
        if not isinstance(by, Term):
            return TRUE if any(typed(by) == typed(one) for one in term.args[1:]) else FALSE
        numbers = [one for one in term.args[1:] if isinstance(one, (int, Fraction))]
        return any_of(compare("eq", by, const(one)) for one in numbers)
    if term.op in ("const", "fact", "in"):
        return term
    parts = [substituted(part, name, by) for part in term.args]
    return _rebuilt(term.op, parts)


def _rebuilt(op: str, parts: list[Term]) -> Term:
    if op == "and":
        return all_of(parts)
    if op == "or":
        return any_of(parts)
    if op == "not":
        return negate(parts[0])
    if op == "ite":
        return where(*parts)
    if op == "pow2":
        return power_of_two(parts[0])
    return compare(op, *parts) if op in COMPARISONS else number(op, *parts)


_JUNCTIONS: Final = frozenset({"and", "or", "not", "ite"})


def atoms(term: Term) -> tuple[Term, ...]:
    """Return the conditions that a formula is made of, in order, each once."""
    found: dict[Term, None] = {}
    _collect_atoms(term, found)
    return tuple(found)


def _collect_atoms(term: Term, found: dict[Term, None]) -> None:
    if term.op in _JUNCTIONS:
        for part in term.args:
            _collect_atoms(part, found)
    elif term.op != "const":
        found[term] = None


def facts_of(term: Term) -> tuple[str, ...]:
    """Return the names of the facts that a term reads, in order, each once."""
    found: dict[str, None] = {}
    pending = [term]
    while pending:
        one = pending.pop()
        if one.op in ("fact", "in"):
            found[one.args[0]] = None
        elif one.op != "const":
            pending.extend(reversed(one.args))
    return tuple(found)
