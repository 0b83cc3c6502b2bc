"""Renaming a class wherever the project names it: its definition, imports, uses and ``__all__``."""

from collections.abc import Iterator

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from tileops.findings import Edit, Range
from tileops.lint._rule import Sources
from tileops.lint._syntax import dotted, walk
from tileops.lint.index import ClassNode, Module, Project

__all__ = ["rename_class"]


def rename_class(project: Project, sources: Sources, node: ClassNode, new: str) -> list[Edit]:
    """Return the edits that rename a class in every file, or none when one file stands in the way.

    A file stands in the way when libcst cannot parse it, when it binds the old name to something
    else, or when it uses the new name already.
    """
    edits: list[Edit] = []
    for module in project.own_modules:
        if node.name not in sources[module.path].text:
            continue
        try:
            edits.extend(_Renaming(project, module, node, new).edits(sources[module.path].text))
        except (cst.ParserSyntaxError, _InTheWayError):
            return []
    return edits


class _InTheWayError(Exception):
    """The file uses the old or the new name for something else."""


class _Renaming:
    """The renaming of one class in one module."""

    def __init__(self, project: Project, module: Module, node: ClassNode, new: str) -> None:
        self.project = project
        self.module = module
        self.node = node
        self.new = new

    def edits(self, text: str) -> Iterator[Edit]:
        """Return one edit per occurrence."""
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        positions = wrapper.resolve(PositionProvider)
        names = [name for part in walk(wrapper.module) for name in self._occurrences(part)]
        for name in {id(name): name for name in names}.values():
            where = positions[name]
            place = Range(
                where.start.line, where.start.column + 1, where.end.line, where.end.column + 1
            )
            text = self.new
            if isinstance(name, cst.SimpleString):
                text = f"{name.prefix}{name.quote}{self.new}{name.quote}"
            yield Edit(self.module.path, place, text)

    def _occurrences(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the nodes to replace among a node and the names it owns."""
        old = self.node.name
        match node:
            case cst.ClassDef(name=cst.Name(value=value)) if value == old:
                if self.module is not self.node.module:
                    raise _InTheWayError
                yield node.name
            case cst.ImportFrom(names=[*aliases]):
                yield from self._imports(node, list(aliases))
            case cst.Attribute(attr=cst.Name(value=value)) if value == old and self._is(node):
                yield node.attr
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value="__all__"))]):
                strings = [part for part in walk(node.value) if isinstance(part, cst.SimpleString)]
                yield from (s for s in strings if s.evaluated_value == old and self._known())
            case cst.Name(value=value) if value == self.new:
                raise _InTheWayError
            case _:
                yield from self._loads(node)

    def _loads(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the plain uses of the old name directly below a node that binds no name."""
        old = self.node.name
        match node:
            case (
                cst.Param(name=cst.Name(value=value))
                | cst.FunctionDef(name=cst.Name(value=value))
                | cst.AssignTarget(target=cst.Name(value=value))
                | cst.AnnAssign(target=cst.Name(value=value))
                | cst.NamedExpr(target=cst.Name(value=value))
                | cst.For(target=cst.Name(value=value))
                | cst.AsName(name=cst.Name(value=value))
            ) if value == old:
                raise _InTheWayError
        owned = _owned_names(node)
        for child in node.children:
            if isinstance(child, cst.Name) and child.value == old and id(child) not in owned:
                if not self._known():
                    return
                yield child

    def _imports(
        self, node: cst.ImportFrom, aliases: list[cst.ImportAlias]
    ) -> Iterator[cst.CSTNode]:
        origin = "." * len(node.relative) + dotted(node.module)
        joint = "" if origin.endswith(".") else "."
        for alias in aliases:
            if dotted(alias.name) != self.node.name:
                continue
            target = self.module.absolute(f"{origin}{joint}{self.node.name}")
            if self.project.resolver.absolute(target) is self.node:
                yield alias.name

    def _known(self) -> bool:
        """Say whether the old name means the class in this module."""
        return self.project.resolver.resolve(self.module, self.node.name) is self.node

    def _is(self, attribute: cst.Attribute) -> bool:
        name = dotted(attribute)
        return bool(name) and self.project.resolver.resolve(self.module, name) is self.node


def _owned_names(node: cst.CSTNode) -> set[int]:
    """Return the names below a node that are labels, not uses of a variable."""
    match node:
        case cst.Attribute(attr=attr):
            return {id(attr)}
        case cst.Arg(keyword=cst.Name() as keyword):
            return {id(keyword)}
        case cst.ImportAlias(name=name):
            return {id(name)}
    return set()
