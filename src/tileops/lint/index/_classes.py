"""Classes, their linearisation, and what kind of contract class each is."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from tileops.lint.facts import Attribute, ClassFacts, FunctionFacts

if TYPE_CHECKING:
    from tileops.lint.index._modules import Module

__all__ = ["ClassNode", "Kind", "Lookup", "linearise"]


class Kind(StrEnum):
    """What a class is to the contract.

    An interface inherits ``KernelInterface`` and not ``Kernel``; an implementation inherits both; a
    kernel inherits ``Kernel`` alone. Unknown means that a base could not be resolved and might
    decide.
    """

    INTERFACE = "interface"
    IMPLEMENTATION = "implementation"
    KERNEL = "kernel"
    CALL_SPEC = "call spec"
    OP = "op"
    ROOT = "root"
    OTHER = "other"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Lookup:
    """Where the linearisation of a class finds a name.

    ``known`` is False when an unresolved base might define it first; then the rest says nothing.
    """

    known: bool
    owner: "ClassNode | None" = None
    definition: Attribute | FunctionFacts | None = None

    @property
    def attribute(self) -> Attribute | None:
        """The definition when it is a class attribute."""
        return self.definition if isinstance(self.definition, Attribute) else None

    @property
    def method(self) -> FunctionFacts | None:
        """The definition when it is a function."""
        return self.definition if isinstance(self.definition, FunctionFacts) else None


class ClassNode:
    """A class of the project; linking fills in its bases, linearisation and kind.

    ``certain`` counts the leading classes of ``mro`` no unresolved base stands before.
    """

    def __init__(self, module: "Module", facts: ClassFacts) -> None:
        self.module = module
        self.facts = facts
        self.name = facts.name
        self.bases: tuple[ClassNode, ...] = ()
        self.mro: tuple[ClassNode, ...] = (self,)
        self.certain = 1
        self.complete = True
        self.kind = Kind.UNKNOWN
        self.linked = False

    @property
    def qualified(self) -> str:
        """The module's name and the class's name."""
        return f"{self.module.name}.{self.name}"

    def __repr__(self) -> str:
        return f"<{self.kind} {self.qualified}>"

    def inherits(self, other: "ClassNode") -> bool:
        """Say whether the class is the other or certainly derives from it."""
        return other in self.mro

    def lookup(self, name: str) -> Lookup:
        """Return where the class finds an attribute or method."""
        for position, node in enumerate(self.mro):
            if position >= self.certain:
                return Lookup(known=False)
            definition = node.defines(name)
            if definition is not None:
                return Lookup(True, node, definition)
        return Lookup(known=self.complete)

    def defines(self, name: str) -> Attribute | FunctionFacts | None:
        """Return what the class body itself binds to a name."""
        return self._definitions.get(name)

    @cached_property
    def _definitions(self) -> dict[str, Attribute | FunctionFacts]:
        attributes = {attribute.name: attribute for attribute in self.facts.attributes}
        return {**attributes, **{method.name: method for method in self.facts.methods}}


def linearise(node: ClassNode, bases: list["ClassNode | None"]) -> None:
    """Set a class's linearisation from its bases, which are linked; None is an unresolved base."""
    known = [base for base in bases if base is not None]
    node.bases = tuple(known)
    sequences: list[list[ClassNode]] = [[*base.mro] for base in known]
    merged = _merge([*sequences, list(known)])
    node.complete = None not in bases and all(b.complete for b in known) and merged is not None
    node.mro = (node, *(merged if merged is not None else dict.fromkeys(chain(*sequences))))
    node.certain = len(node.mro) if node.complete else _certain(node, bases)


def _certain(node: ClassNode, bases: list["ClassNode | None"]) -> int:
    """Count the classes before anything an unresolved base could put first.

    With a single known base the linearisation is that base's own, so its certainty carries over.
    """
    if len(bases) == 1 and bases[0] is not None:
        return 1 + bases[0].certain
    if bases and bases[0] is not None and bases[0].complete:
        # The first base precedes the others, but its ancestors may be pulled behind them.
        return 2
    return 1


def _merge(sequences: list[list[ClassNode]]) -> list[ClassNode] | None:
    """Merge linearisations as Python does (C3); None when they contradict each other."""
    merged: list[ClassNode] = []
    rest = [sequence for sequence in sequences if sequence]
    while rest:
        tails = {id(node) for sequence in rest for node in sequence[1:]}
        head = next((s[0] for s in rest if id(s[0]) not in tails), None)
        if head is None:
            return None
        merged.append(head)
        rest = [kept for s in rest if (kept := [n for n in s if n is not head])]
    return merged
