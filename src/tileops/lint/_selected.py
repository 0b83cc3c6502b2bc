"""The kernels a method of an op selects or is given, and where it uses and keeps them.

Imported only where a slice was parsed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tileops.lint._body import Body
from tileops.lint._syntax import bindings, dotted, parameter

__all__ = ["Selected", "Use"]

_DISPLAYS = ("dict", "frozenset", "list", "set", "tuple")


@dataclass(frozen=True, slots=True)
class Use:
    """A node that uses a kernel, with the interface key it was asked by.

    ``key`` is a string or a dotted name, ``literal`` says which; both are empty for a kernel that
    ``bind`` was given.
    """

    node: cst.CSTNode
    key: str = ""
    literal: bool = False


class Selected:
    """What a method does with kernels."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self.bound = bindings(body.function)
        is_bind = body.function.name.value == "bind"
        self._given = parameter(body.function, 1) if is_bind else ""
        self._parts = set(self._unpacked()) if self._given else set()

    def kernel(self, node: cst.CSTNode) -> Use | None:
        """Return how an expression came to be a kernel, None when it is none."""
        match node:
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="kernel_for"))):
                return self._asked(node)
            case cst.Subscript(value=cst.Name(value=name)) if name == self._given and name:
                return Use(node)
            case cst.Name(value=name) if name in self._parts:
                return Use(node)
            case cst.Name(value=name) if len(self.bound.get(name, ())) == 1:
                value = self.bound[name][0]
                is_itself = value is None or isinstance(value, cst.Name)
                return None if is_itself or value is None else self.kernel(value)
        return None

    def attributes(self) -> Iterator[tuple[cst.Attribute, Use, cst.Call | None]]:
        """Yield the attributes read of kernels, with the call where they are called."""
        called = {id(call.func): call for call in self._body.of(cst.Call)}
        for node in self._body.of(cst.Attribute):
            use = self.kernel(node.value)
            if use is not None:
                yield node, use, called.get(id(node))

    def calls(self) -> Iterator[tuple[cst.Call, Use]]:
        """Yield the calls that run a kernel."""
        for call in self._body.of(cst.Call):
            callee: cst.CSTNode = call.func
            match callee:
                case cst.Attribute(value=inner, attr=cst.Name(value="forward" | "__call__")):
                    callee = inner
            use = self.kernel(callee)
            if use is not None:
                yield call, use

    def holds(self, node: cst.CSTNode | None) -> bool:  # noqa: PLR0911
        """Say whether a value is a kernel, a factory of one, or is made of them."""
        if node is None:
            return False
        if self.kernel(node) is not None or self._is_entry(node):
            return True
        match node:
            case cst.Name(value=name):
                values = self.bound.get(name, ())
                if name == self._given and name:
                    return True
                one = values[0] if len(values) == 1 else None
                return one is not None and not isinstance(one, cst.Name) and self.holds(one)
            case cst.Attribute(value=inner, attr=cst.Name(value="forward" | "__call__")):
                return self.holds(inner)
            case cst.Tuple() | cst.List() | cst.Set():
                return any(self.holds(element.value) for element in node.elements)
            case cst.Dict(elements=elements):
                return any(self.holds(element.value) for element in elements)
            case cst.ListComp(elt=element) | cst.SetComp(elt=element):
                return self.holds(element)
            case cst.GeneratorExp(elt=element) | cst.DictComp(value=element):
                return self.holds(element)
            case cst.IfExp(body=one, orelse=other):
                return self.holds(one) or self.holds(other)
            case cst.BooleanOperation(left=one, right=other):
                return self.holds(one) or self.holds(other)
            case cst.Call(func=cst.Name(value=name), args=[argument]) if name in _DISPLAYS:
                return self.holds(argument.value)
        return False

    def _asked(self, call: cst.Call) -> Use:
        named = [a.value for a in call.args if a.keyword and a.keyword.value == "interface"]
        first = [a.value for a in call.args[:1] if a.keyword is None and not a.star]
        key = next(iter([*first, *named]), None)
        if isinstance(key, cst.SimpleString):
            return Use(call, str(key.evaluated_value), literal=True)
        # A name that the method binds is no constant of the module.
        name = dotted(key)
        params = self._body.function.params
        local = {*self.bound, *(p.name.value for p in (*params.posonly_params, *params.params))}
        return Use(call, "?" if not name or name in local else name)

    def _is_entry(self, node: cst.CSTNode) -> bool:
        """Say whether a value is an entry, the factory of one, or what the factory makes."""
        match node:
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="entry_for"))):
                return True
            case cst.Call(func=cst.Name() as factory, args=[]):
                return factory.value in self._factories()
            case cst.Name(value=name):
                return name in self._factories()
        return False

    def _factories(self) -> set[str]:
        found: set[str] = set()
        for node in self._body.of(cst.Assign):
            match node:
                case cst.Assign(
                    targets=[
                        cst.AssignTarget(
                            target=cst.Tuple(elements=[_, cst.Element(value=cst.Name(value=name))])
                        )
                    ],
                    value=cst.Call(func=cst.Attribute(attr=cst.Name(value="entry_for"))),
                ):
                    found.add(name)
        return found

    def _unpacked(self) -> Iterator[str]:
        """Yield the locals that each hold one of the kernels ``bind`` was given."""
        for node in self._body.nodes:
            match node:
                case cst.Assign(targets=[target], value=cst.Name(value=self._given)):
                    if not isinstance(target.target, cst.Name):
                        yield from _names(target.target)
                case cst.For(target=target, iter=cst.Name(value=self._given)):
                    yield from _names(target)
                case cst.CompFor(target=target, iter=cst.Name(value=self._given)):
                    yield from _names(target)


def _names(target: cst.CSTNode) -> Iterator[str]:
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from _names(element.value)
