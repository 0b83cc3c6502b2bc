"""Which interfaces and files a statement about the contract is meant for."""

from pathlib import PurePosixPath

from tileops.lint.index import ClassNode, Kind, Module, Project

__all__ = ["Abstract", "is_test"]


def is_test(module: Module) -> bool:
    """Say whether a module belongs to the tests of a project."""
    path = PurePosixPath(module.path)
    named = path.name.startswith("test_") or path.name == "conftest.py"
    return named or not {"test", "tests"}.isdisjoint(path.parts[:-1])


class Abstract:
    """The interfaces that others derive from and no op names: they need not be whole."""

    def __init__(self, project: Project) -> None:
        interfaces = [node for node in project.known_classes if node.kind is Kind.INTERFACE]
        self._bases = {base for node in interfaces for base in node.mro[1:]}
        stated = [table.interfaces for table in project.tables if table.interfaces is not None]
        self._named = {entry.target for table in stated for entry in table.entries}

    def __contains__(self, node: ClassNode) -> bool:
        return node in self._bases and node not in self._named
