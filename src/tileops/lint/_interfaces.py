"""Which interfaces a statement about the contract is meant for."""

from tileops.lint.index import ClassNode, Kind, Project

__all__ = ["Abstract"]


class Abstract:
    """The interfaces that others derive from and no op names: they need not be whole."""

    def __init__(self, project: Project) -> None:
        interfaces = [node for node in project.known_classes if node.kind is Kind.INTERFACE]
        self._bases = {base for node in interfaces for base in node.mro[1:]}
        stated = [table.interfaces for table in project.tables if table.interfaces is not None]
        self._named = {entry.target for table in stated for entry in table.entries}

    def __contains__(self, node: ClassNode) -> bool:
        return node in self._bases and node not in self._named
