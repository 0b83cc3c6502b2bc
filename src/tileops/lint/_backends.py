"""The backends that the projects at hand declare, and the modules importing them runs."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from tileops.lint.facts import EntryPoint
from tileops.lint.index import Foreign, FunctionNode, Module, Project

__all__ = ["backends", "called_on_import", "imported_with", "located"]


def backends(project: Project) -> Iterator[tuple[str, EntryPoint]]:
    """Yield the entry points of every ``pyproject.toml``, with its path."""
    for path, facts in project.files.items():
        for point in facts.entry_points:
            yield path, point


def located(project: Project, path: str, dotted: str) -> list[Module]:
    """Return the modules a backend's entry point loads first, and those beside them.

    The module is looked for by name, and by path below the ``pyproject.toml`` and its ``src``.
    Modules inside it follow; nothing is returned when there is no such module.
    """
    folder = PurePosixPath(path).parent
    below = dotted.replace(".", "/")
    roots = [str(root / below) for root in (folder, folder / "src")]
    found = [
        module
        for module in project.own_modules
        if module.name == dotted
        or module.name.startswith(f"{dotted}.")
        or any(module.path == f"{root}.py" or module.path.startswith(f"{root}/") for root in roots)
    ]
    return sorted(found, key=lambda module: (module.name.count("."), module.path))


def imported_with(project: Project, first: Module) -> list[Module] | None:
    """Return the modules that importing one imports, or None when that cannot be told.

    It cannot where something is imported from a package outside the project and the libraries
    known to register nothing, or by a computed name.
    """
    found = {first.name: first}
    frontier = [first]
    for module in frontier:
        if any(
            name.rpartition(".")[2] in ("import_module", "__import__") for name in _calls(module)
        ):
            return None
        for target in (*module.facts.imports.values(), *module.facts.stars):
            reached = _reached(project, module.absolute(target))
            if reached is None:
                return None
            fresh = [one for one in reached if one.name not in found]
            found.update((one.name, one) for one in fresh)
            frontier.extend(fresh)
    return list(found.values())


def called_on_import(project: Project, modules: list[Module]) -> list[FunctionNode]:
    """Return the functions that statements outside functions of the modules call, at any depth."""
    found: dict[int, FunctionNode] = {}
    frontier: list[tuple[Module, tuple[str, ...]]] = [(m, m.facts.calls) for m in modules]
    for module, calls in frontier:
        for name in calls:
            target = project.resolver.resolve(module, name)
            if isinstance(target, FunctionNode) and id(target.facts) not in found:
                found[id(target.facts)] = target
                frontier.append((target.module, target.facts.calls))
    return list(found.values())


def _calls(module: Module) -> Iterator[str]:
    yield from module.facts.calls
    for function in module.facts.functions:
        yield from function.calls


def _reached(project: Project, dotted: str) -> list[Module] | None:
    """Return the own modules that importing a dotted name runs, None when others may follow."""
    first = dotted.partition(".")[0]
    if first not in project.modules:
        harmless = Foreign(dotted).transparent or first == "tileops"
        return [] if harmless else None
    parts = dotted.split(".")
    names = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
    if len(parts) == 1:
        # ``import a.b`` binds only ``a``, so any module of the package may be meant.
        names += [name for name in project.modules if name.startswith(f"{dotted}.")]
    modules = [project.modules[name] for name in names if name in project.modules]
    return [module for module in modules if not module.external]
