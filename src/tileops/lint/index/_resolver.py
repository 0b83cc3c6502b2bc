"""What a name in a module means, following imports, re-exports and constants."""

import builtins
from dataclasses import dataclass

from tileops.lint.facts import FunctionFacts, Value, is_foreign
from tileops.lint.index._classes import ClassNode
from tileops.lint.index._modules import Module

__all__ = ["Foreign", "FunctionNode", "Located", "Resolver", "Target"]

_BUILTINS = frozenset(dir(builtins))
_DEEPEST_ALIAS = 16


@dataclass(frozen=True, slots=True)
class Located:
    """A value and the module that states it."""

    module: Module
    value: Value


@dataclass(frozen=True, slots=True)
class FunctionNode:
    """A function and its module."""

    module: Module
    facts: FunctionFacts


@dataclass(frozen=True, slots=True)
class Foreign:
    """Something outside the project, by its dotted name."""

    name: str

    @property
    def transparent(self) -> bool:
        """Whether it certainly has no part in the contract."""
        return is_foreign(self.name)


Target = ClassNode | FunctionNode | Located | Module | Foreign
"""What a name can mean; None beside it stands for unknown."""


class Resolver:
    """Resolution over a fixed set of modules."""

    def __init__(self, modules: dict[str, Module]) -> None:
        self.modules = modules
        self._known: dict[tuple[str, str], Target | None] = {}
        self._meant: dict[tuple[str, str], Target | None] | None = None

    def settle(self) -> None:
        """Remember every answer from now on: the classes are linked, so none changes any more."""
        self._meant = {}

    def resolve(self, module: Module, name: str) -> Target | None:
        """Return what a dotted name means in a module, None when unknown."""
        if self._meant is None:
            return self._resolved(module, name)
        key = (module.name, name)
        if key not in self._meant:
            self._meant[key] = self._resolved(module, name)
        return self._meant[key]

    def _resolved(self, module: Module, name: str) -> Target | None:
        first, _, rest = name.partition(".")
        target = self._lookup(module, first)
        if target is None and first in _BUILTINS:
            target = Foreign(f"builtins.{first}")
        return self._descend(target, rest.split(".") if rest else [])

    def resolve_class(self, module: Module, value: Value) -> ClassNode | None:
        """Return the class a value names, directly or through constants and subscripts."""
        if value.kind == "subscript":
            return self.resolve_class(module, value.items[0])
        target = self.resolve(module, value.name) if value.kind == "name" else None
        if isinstance(target, Located):
            target = self._last(target)
        return target if isinstance(target, ClassNode) else None

    def evaluate(self, module: Module, value: Value) -> Located:
        """Follow names of constants to the value they stand for."""
        where = Located(module, value)
        for _ in range(_DEEPEST_ALIAS):
            if where.value.kind != "name":
                break
            target = self.resolve(where.module, where.value.name)
            if not isinstance(target, Located):
                break
            where = target
        return where

    def _last(self, where: Located) -> Target | None:
        where = self.evaluate(where.module, where.value)
        if where.value.kind != "name":
            return None
        return self.resolve(where.module, where.value.name)

    def absolute(self, dotted: str) -> Target | None:
        """Return what an absolute dotted name means, following re-exports."""
        first, *rest = dotted.split(".")
        root = self.modules.get(first)
        return Foreign(dotted) if root is None else self._descend(root, rest)

    def _descend(self, target: Target | None, parts: list[str]) -> Target | None:
        for position, part in enumerate(parts):
            match target:
                case Module():
                    target = self._lookup(target, part)
                case Foreign(name=name):
                    return Foreign(".".join([name, *parts[position:]]))
                case ClassNode():
                    found = target.lookup(part)
                    value = found.attribute.value if found.attribute else None
                    if value is None or found.owner is None:
                        return None
                    target = Located(found.owner.module, value)
                case _:
                    return None
        return target

    def _lookup(self, module: Module, name: str) -> Target | None:
        """Return what a module binds to one name, or its submodule of that name."""
        key = (module.name, name)
        if key not in self._known:
            # A name that is being looked up already is unknown: the imports run in a circle.
            self._known[key] = None
            self._known[key] = self._bound(module, name) or self.modules.get(
                f"{module.name}.{name}"
            )
        return self._known[key]

    def _bound(self, module: Module, name: str) -> Target | None:  # noqa: PLR0911
        facts = module.facts
        if name in module.classes:
            return module.classes[name]
        if name in module.functions:
            return FunctionNode(module, module.functions[name])
        if name in facts.constants:
            return Located(module, facts.constants[name])
        if name in facts.imports:
            return self._import(module, facts.imports[name])
        lazy = self._lazy(module, name)
        if lazy is not None:
            return lazy
        for star in facts.stars:
            origin = self.absolute(module.absolute(star))
            if isinstance(origin, Module) and not name.startswith("_"):
                found = self._lookup(origin, name)
                if found is not None:
                    return found
        return None

    def _import(self, module: Module, target: str) -> Target | None:
        dotted = module.absolute(target)
        if dotted.rpartition(".")[0] == module.name and dotted in self.modules:
            # A package importing its own submodule under the submodule's name.
            return self.modules[dotted]
        return self.absolute(dotted)

    def _lazy(self, module: Module, name: str) -> Target | None:
        """Follow a module's ``__getattr__`` that looks names up in a dict of module names."""
        if "__getattr__" not in module.functions:
            return None
        for constant in module.facts.constants.values():
            if constant.kind != "dict":
                continue
            for key, value in constant.pairs:
                if key.text == name and value.text:
                    home = self.absolute(module.absolute(value.text))
                    return self._lookup(home, name) if isinstance(home, Module) else home
        return None
