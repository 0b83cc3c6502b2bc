"""Modules by their dotted names, and how a path gets its name."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import PurePosixPath

from tileops.lint.facts import FileFacts, FunctionFacts
from tileops.lint.index._classes import ClassNode

__all__ = ["Module", "module_table"]


class Module:
    """One file of the project under its dotted name.

    ``external`` marks modules of the installed library: they are known, and never reported on. A
    package without ``__init__.py`` has an empty path. ``is_test`` marks what belongs to the tests
    of a project.
    """

    def __init__(self, name: str, path: str, facts: FileFacts, *, external: bool = False) -> None:
        self.name = name
        self.path = path
        self.facts = facts
        self.external = external
        *folders, file = path.split("/")
        self.package = not path or file == "__init__.py"
        named = file.startswith("test_") or file == "conftest.py"
        self.is_test = named or "tests" in folders or "test" in folders

    @cached_property
    def classes(self) -> dict[str, ClassNode]:
        """The classes other modules can name, the last definition of each name."""
        nodes = (ClassNode(self, facts) for facts in self.facts.classes)
        return {n.name: n for n in nodes if n.facts.scope in ("module", "conditional")}

    @cached_property
    def functions(self) -> dict[str, FunctionFacts]:
        """The module's functions, the last definition of each name."""
        return {function.name: function for function in self.facts.functions}

    def absolute(self, target: str) -> str:
        """Return the absolute form of an import target that may start with dots."""
        name = target.lstrip(".")
        level = len(target) - len(name)
        if not level:
            return target
        parts = self.name.split(".")
        kept = parts[: len(parts) - level + (1 if self.package else 0)]
        return ".".join([*kept, name] if name else kept)


def module_table(
    files: Mapping[str, FileFacts], external: Mapping[str, FileFacts]
) -> dict[str, Module]:
    """Return every module by name, parents of namespace packages included.

    Modules of ``external`` stand behind those of ``files`` with the same name; where ``files``
    holds a top-level package, ``external`` modules of that package are not taken at all.
    """
    table: dict[str, Module] = {}
    packages = {str(PurePosixPath(p).parent) for p in files if p.endswith("__init__.py")}
    modules = [path for path in files if path.endswith(".py")]
    for path in sorted(modules, key=lambda path: (not path.startswith("src/"), path)):
        name = _module_name(path, packages)
        if name in table:
            # The first file of a name is the one imports reach; the others are still linted.
            name = f"{name}@{path}"
        table[name] = Module(name, path, files[path])
    own = {name.partition(".")[0] for name in table}
    outside = {str(PurePosixPath(p).parent) for p in external if p.endswith("__init__.py")}
    for path, facts in external.items():
        name = _module_name(path, outside)
        if name.partition(".")[0] not in own:
            table[name] = Module(name, path, facts, external=True)
    for name in [name for name in table if "@" not in name]:
        for parent in _parents(name):
            table.setdefault(parent, Module(parent, "", FileFacts(), external=True))
    return table


def _parents(name: str) -> Iterable[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _module_name(path: str, packages: set[str]) -> str:
    """Return the dotted name a file is imported under.

    The outermost package above the file decides where the name starts; without one it starts below
    ``src``, or at the root.
    """
    file = PurePosixPath(path)
    above = [
        str(parent) for parent in file.parents if str(parent) in packages and str(parent) != "."
    ]
    if above:
        root = PurePosixPath(above[-1]).parent
    else:
        parts = file.parts[:-1]
        depth = len(parts) - parts[::-1].index("src") if "src" in parts else 0
        root = PurePosixPath(*parts[:depth])
    relative = file.relative_to(root).with_suffix("")
    names = relative.parts[:-1] if relative.name == "__init__" else relative.parts
    return ".".join(names) or "__init__"
