"""What an ``entry_for`` returns, and which facts of the call its parts depend on.

A fact is named by its path below the call, such as "n" or "device.index"; "" is the whole call.
Imported only where a slice was parsed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from tileops.lint._syntax import bindings, children, code, dotted, own, parameter, returns, walk

__all__ = ["Entry", "Held", "Identity", "Reads", "entries", "held"]

_CONTAINERS = ("tuple", "list", "frozenset", "dict", "set", "sorted")
_VIEWS = ("values", "items", "keys")


@dataclass(slots=True)
class Identity:
    """What a build identity determines.

    ``facts`` are paths below the call, ``names`` locals that are part of it, ``texts`` the source
    of elements that are neither; ``known`` is False when an element could determine anything.
    """

    facts: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    known: bool = True

    def determines(self, fact: str) -> bool:
        """Say whether the identity fixes a fact: it holds it, or something the fact is part of."""
        parts = fact.split(".")
        return "" in self.facts or any(
            ".".join(parts[:length]) in self.facts for length in range(1, len(parts) + 1)
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """One ``return identity, factory`` of an ``entry_for``."""

    identity: cst.BaseExpression
    factory: cst.BaseExpression


def entries(function: cst.FunctionDef) -> list[Entry]:
    """Return the pairs a function returns as displays; any other return is another's entry."""
    found: list[Entry] = []
    for node in returns(function):
        match node.value:
            case cst.Tuple(elements=[cst.Element(value=identity), cst.Element(value=factory)]):
                found.append(Entry(identity, factory))
    return found


@dataclass(frozen=True, slots=True)
class Held:
    """One thing a build identity holds, the identity itself included.

    ``stated`` is the expression in its place and ``value`` what it stands for, another node when
    it is a local that is bound once. ``direct`` says that no local lies between it and the
    ``return``.
    """

    stated: cst.BaseExpression
    value: cst.BaseExpression
    direct: bool


def held(function: cst.FunctionDef) -> list[Held]:
    """Return what the identities of a function hold, in source order; unpacked parts are left out.

    A local is followed to the value it is bound to once.
    """
    bound = bindings(function)
    found: list[Held] = []
    for entry in entries(function):
        _hold(entry.identity, bound, found, direct=True)
    return found


def _hold(
    node: cst.BaseExpression,
    bound: dict[str, list[cst.BaseExpression | None]],
    found: list[Held],
    *,
    direct: bool,
) -> None:
    value = node
    if isinstance(node, cst.Name):
        values = bound.get(node.value, [])
        value = values[0] or node if len(values) == 1 else node
        direct = direct and value is node
    match value:
        case cst.Tuple(elements=elements):
            parts = [element.value for element in elements if isinstance(element, cst.Element)]
        case cst.BinaryOperation(left=cst.Tuple() as left, right=cst.Tuple() as right):
            parts = [left, right]
        case cst.IfExp(body=body, orelse=orelse):
            parts = [body, orelse]
        case _:
            found.append(Held(node, value, direct))
            return
    for part in parts:
        _hold(part, bound, found, direct=direct)


class Reads:
    """The facts an ``entry_for`` puts into its identity, and those its factory needs.

    Attributes:
        call: The name of the parameter that holds the call spec.
    """

    def __init__(self, function: cst.FunctionDef) -> None:
        self.call = parameter(function, 1)
        self._bound = bindings(function)
        self._functions = {
            node.name.value: node for node in own(function) if isinstance(node, cst.FunctionDef)
        }

    def identity(self, node: cst.BaseExpression) -> Identity:
        """Return what a build identity determines."""
        found = Identity()
        self._determine(node, found)
        return found

    def needs(self, factory: cst.BaseExpression, identity: Identity) -> set[str] | None:
        """Return the facts a factory reads that the identity does not determine.

        None means that the factory depends on something that cannot be followed.
        """
        needed: set[str] = set()
        body = factory
        if isinstance(factory, cst.Name) and factory.value in self._functions:
            body = self._functions[factory.value].body  # type: ignore[assignment]
        elif not isinstance(factory, cst.Lambda | cst.Call):
            return None
        known = self._need(body, identity, needed, frozenset())
        return needed if known else None

    def handed(self, factory: cst.BaseExpression) -> list[tuple[int, str]] | None:
        """Return how a factory hands the whole call to ``cls``: positions, -1 where by keyword.

        None means that the call also goes elsewhere.
        """
        body: cst.CSTNode = factory
        if isinstance(factory, cst.Name) and factory.value in self._functions:
            body = self._functions[factory.value].body
        found: list[tuple[int, str]] = []
        bare = 0
        for node in walk(body):
            bare += sum(self.fact(part) == "" for part in _used(node))
            if isinstance(node, cst.Call) and dotted(node.func) == "cls":
                for position, argument in enumerate(node.args):
                    if self.fact(argument.value) == "" and not argument.star:
                        keyword = argument.keyword
                        found.append((position, "") if keyword is None else (-1, keyword.value))
            elif isinstance(node, cst.Attribute) and self.fact(node.value) == "":
                bare -= 1
        return found if bare == len(found) else None

    def is_extensible(self, identity: cst.BaseExpression) -> bool:
        """Say whether a fact can be added where the identity stands, without changing a local."""
        if not isinstance(identity, cst.Name):
            return not isinstance(identity, cst.Call)
        value = self._value(identity.value)
        return value is not None and not isinstance(value, cst.Tuple | cst.List | cst.Dict)

    def fact(self, node: cst.CSTNode) -> str | None:
        """Return the path below the call an expression reads, None when it reads none."""
        name = dotted(node)
        if name == self.call:
            return ""
        return name.removeprefix(f"{self.call}.") if name.startswith(f"{self.call}.") else None

    def _value(self, name: str) -> cst.BaseExpression | None:
        """Return what a local is bound to when it is bound once."""
        bound = self._bound.get(name, [])
        return bound[0] if len(bound) == 1 else None

    def _determine(self, node: cst.BaseExpression, found: Identity) -> None:
        fact = self.fact(node)
        if fact is not None:
            found.facts.add(fact)
            return
        match node:
            case cst.Name(value=name):
                found.names.add(name)
                value = self._value(name)
                if value is not None and self._is_transparent(value):
                    self._determine(value, found)
                elif value is None and len(self._bound.get(name, [])) != 1:
                    found.known = found.known and name not in self._bound
            case cst.IfExp() if self._guarded_fact(node):
                found.facts.add(self._guarded_fact(node))
            case cst.Call():
                self._determine_call(node, found)
            case cst.Tuple() | cst.List() | cst.Set() | cst.Dict():
                for part in _parts(node):
                    self._determine(part, found)
            case _:
                found.texts.add(code(node))

    def _determine_call(self, node: cst.Call, found: Identity) -> None:
        match node.func:
            case cst.Name(value=name) if name in _CONTAINERS:
                for argument in node.args:
                    self._determine(argument.value, found)
            case cst.Attribute(value=owner, attr=cst.Name(value=view)) if view in _VIEWS:
                self._determine(owner, found)
            case _:
                found.texts.add(code(node))
                # A helper that is given the whole call may put anything into the identity.
                if any(self.fact(argument.value) == "" for argument in node.args):
                    found.known = False

    def _is_transparent(self, node: cst.BaseExpression) -> bool:
        """Say whether a local bound to this determines what the value is made of."""
        if self.fact(node) is not None or isinstance(node, cst.Tuple | cst.List | cst.Dict):
            return True
        if isinstance(node, cst.IfExp):
            return bool(self._guarded_fact(node))
        return isinstance(node, cst.Call) and dotted(node.func) in _CONTAINERS

    def _guarded_fact(self, node: cst.IfExp) -> str:
        """Return the fact behind ``call.device.index if call.device is not None else None``."""
        for arm, other in ((node.body, node.orelse), (node.orelse, node.body)):
            fact = self.fact(arm)
            if fact and isinstance(other, cst.Name | cst.Integer | cst.UnaryOperation):
                parts = [self.fact(part) for part in children(node.test)]
                if any(part and fact.startswith(part) for part in parts):
                    return fact.partition(".")[0]
        return ""

    def _need(
        self, node: cst.CSTNode, identity: Identity, needed: set[str], open_: frozenset[str]
    ) -> bool:
        """Add the undetermined facts below a node; return False when one cannot be followed."""
        if isinstance(node, cst.BaseExpression) and code(node) in identity.texts:
            return True
        fact = self.fact(node)
        if fact is not None:
            if not identity.determines(fact):
                needed.add(fact)
            return True
        if isinstance(node, cst.Name):
            return self._need_local(node.value, identity, needed, open_)
        followed = [self._need(part, identity, needed, open_) for part in _used(node)]
        return all(followed)

    def _need_local(
        self, name: str, identity: Identity, needed: set[str], open_: frozenset[str]
    ) -> bool:
        if name in identity.names or name in open_ or name not in self._bound:
            return True
        function = self._functions.get(name)
        if function is not None:
            return self._need(function.body, identity, needed, open_ | {name})
        values = self._bound[name]
        if None in values:
            return False
        inner = open_ | {name}
        followed = [self._need(v, identity, needed, inner) for v in values if v is not None]
        return all(followed)


def _parts(node: cst.Tuple | cst.List | cst.Set | cst.Dict) -> Iterator[cst.BaseExpression]:
    for element in node.elements:
        match element:
            case cst.DictElement(key=key, value=value):
                yield key
                yield value
            case _:
                yield element.value


def _used(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the parts of a node that are evaluated: no labels, no parameter names."""
    for child in children(node):
        match node:
            case cst.Attribute(attr=attr) if child is attr:
                continue
            case cst.Arg(keyword=keyword) if child is keyword:
                continue
            case cst.Param(name=name) if child is name:
                continue
            case cst.AssignTarget():
                continue
        yield child
