"""The calls a backend registers with: their arguments, and whose distribution they belong to."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from tileops.lint.facts import Site, Value
from tileops.lint.index import Module, Project

__all__ = ["PARAMETERS", "argument", "distribution", "in_tests", "origin", "registrations", "text"]

PARAMETERS = {
    "register_detector": ("target", "detect"),
    "register_device_facts": ("device_type", "reader"),
    "register_kernel_builder": ("op", "target", "build_kernel"),
    "register_kernel_type": ("op", "key", "kernel_type"),
}
"""The functions of ``tileops.backend`` that register something, with their parameters."""


def registrations(project: Project, name: str) -> Iterator[tuple[Module, Site]]:
    """Yield the calls of one of these functions."""
    for module, site in project.sites(name):
        if project.is_backend(module, site.call.items[0], name):
            yield module, site


def argument(site: Site, name: str) -> Value | None:
    """Return what a registration passes for a parameter, None when it cannot be told."""
    position = PARAMETERS[site.callee.rpartition(".")[2]].index(name)
    positional = site.call.arguments
    if any(value.kind == "starred" for value in positional):
        return None
    return positional[position] if position < len(positional) else site.call.keyword(name)


def text(project: Project, module: Module, site: Site, name: str) -> str | None:
    """Return the string a registration passes for a parameter, None when it cannot be told."""
    value = argument(site, name)
    return None if value is None else project.evaluate(module, value).value.text


def distribution(project: Project, module: Module) -> str:
    """Return the folder of the nearest ``pyproject.toml`` above a module, "." for the root."""
    for folder in PurePosixPath(module.path).parents:
        if str(folder / "pyproject.toml") in project.files:
            return str(folder)
    return "."


def origin(project: Project, module: Module) -> str:
    """Name what a module's registrations are loaded with: its distribution, or itself in tests."""
    return module.name if in_tests(module) else distribution(project, module)


def in_tests(module: Module) -> bool:
    """Say whether a module belongs to a test suite."""
    path = PurePosixPath(module.path)
    return "tests" in path.parts or path.stem.startswith("test_") or path.stem == "conftest"
