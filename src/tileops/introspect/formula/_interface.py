"""One interface of one op as formulas: when each key applies, and what a call then comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tileops.introspect.formula._domain import Domain, FactDomain
from tileops.introspect.formula._term import FALSE, Term, all_of, any_of, member, negate

__all__ = ["HIDDEN", "ImplementationModel", "InterfaceModel", "Unmodelled"]


HIDDEN: Final = ".applies"
"""Ends the name of the fact that stands for what is not known of a key."""


@dataclass(frozen=True, order=True)
class Unmodelled:
    """Something in a refusal that no formula says: why, and where."""

    why: str
    where: str

    def __str__(self) -> str:
        return f"{self.why} at {self.where}" if self.where else self.why


@dataclass(frozen=True)
class ImplementationModel:
    """When one key is available and serves a call.

    Attributes:
        key: Its key.
        serves: Where it surely applies.
        raises: Where its refusal raises or returns no sentence.
        unknown: Where neither is known, since the refusal ran code that is not modelled.
        unmodelled: What that code is.
        assumptions: What the formulas take for granted, such as exact real arithmetic.
    """

    key: str
    serves: Term
    raises: Term = FALSE
    unknown: Term = FALSE
    unmodelled: tuple[Unmodelled, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def hidden(self) -> FactDomain | None:
        """The fact that stands for what is not known of it, or None."""
        if self.unknown == FALSE:
            return None
        name = f"{self.key}{HIDDEN}"
        return FactDomain(name, "choice", default=True, values=(True, False), hidden=True)

    @property
    def may_serve(self) -> Term:
        """Where it applies, the unknown decided by its hidden fact."""
        if self.hidden is None:
            return self.serves
        guess = member(self.hidden.name, (True,))
        return any_of((self.serves, all_of((self.unknown, guess))))


@dataclass(frozen=True)
class InterfaceModel:
    """The keys of an interface as formulas, with their precedence.

    Attributes:
        op: The op's class name.
        interface: The interface's key in the op.
        domain: The calls that the formulas are about.
        implementations: One per key, in declaration order.
        outranks: For each key, the keys it outranks where both apply; transitively closed.
    """

    op: str
    interface: str
    domain: Domain
    implementations: tuple[ImplementationModel, ...]
    outranks: Mapping[str, frozenset[str]]

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys, in declaration order."""
        return tuple(one.key for one in self.implementations)

    def implementation(self, key: str) -> ImplementationModel:
        """Return the model of one key."""
        return next(one for one in self.implementations if one.key == key)

    @cached_property
    def whole_domain(self) -> Domain:
        """The domain, with the hidden facts of what is not known."""
        hidden = [one.hidden for one in self.implementations if one.hidden is not None]
        return self.domain.with_facts(*hidden) if hidden else self.domain

    @cached_property
    def serving(self) -> Mapping[str, Term]:
        """Where each key applies."""
        return {one.key: one.may_serve for one in self.implementations}

    @cached_property
    def defective(self) -> Term:
        """Where some refusal raises."""
        return any_of(one.raises for one in self.implementations)

    @cached_property
    def unserved(self) -> Term:
        """Where no key applies and none raises."""
        return all_of([negate(self.defective), *(negate(one) for one in self.serving.values())])

    def unbeaten(self, key: str) -> Term:
        """Return where a key applies and nothing that outranks it does."""
        rivals = [one for one in self.keys if key in self.outranks[one]]
        return all_of([self.serving[key], *(negate(self.serving[one]) for one in rivals)])

    def unordered(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs of keys of which neither outranks the other."""
        return tuple(
            (a, b)
            for position, a in enumerate(self.keys)
            for b in self.keys[position + 1 :]
            if b not in self.outranks[a] and a not in self.outranks[b]
        )

    def tied(self, first: str, second: str) -> Term:
        """Return where two keys both apply and neither is outranked."""
        return all_of((negate(self.defective), self.unbeaten(first), self.unbeaten(second)))

    @cached_property
    def ambiguous(self) -> Term:
        """Where several keys apply and none has precedence."""
        return any_of(self.tied(a, b) for a, b in self.unordered())

    def selected(self, key: str) -> Term:
        """Return where a key is selected."""
        ties = [b if a == key else a for a, b in self.unordered() if key in (a, b)]
        return all_of(
            [
                negate(self.defective),
                self.unbeaten(key),
                *(negate(self.unbeaten(other)) for other in ties),
            ]
        )

    def outcomes(self) -> Mapping[str, Term]:
        """Return where each outcome holds: a key, or ``ambiguous``, ``unserved``, ``defective``.

        A key's outcome is written ``key:NAME``, so that no key can be taken for another outcome.
        """
        found = {f"key:{key}": self.selected(key) for key in self.keys}
        return {
            **found,
            "ambiguous": self.ambiguous,
            "unserved": self.unserved,
            "defective": self.defective,
        }
