"""The targets that detectors and builders are registered for."""

from dataclasses import dataclass

from tileops.lint._registrations import argument, in_tests, registrations
from tileops.lint.index import Located, Project

__all__ = ["Target", "unmatched"]


@dataclass(frozen=True, slots=True)
class Target:
    """A target as one registration names it; ``name`` is None when it cannot be read."""

    name: str | None
    stated: Located


def unmatched(project: Project, function: str, other: str) -> list[Target]:
    """Return the targets outside tests that one function names and the other never does.

    There are none where a target given to the other function cannot be read.
    """
    others = {target.name for target in _targets(project, other)}
    if None in others:
        return []
    stated = [t for t in _targets(project, function) if not in_tests(t.stated.module)]
    return [target for target in stated if target.name is not None and target.name not in others]


def _targets(project: Project, function: str) -> list[Target]:
    found: list[Target] = []
    for module, site in registrations(project, function):
        stated = argument(site, "target")
        name = None if stated is None else project.evaluate(module, stated).value.text
        found.append(Target(name, Located(module, site.call if stated is None else stated)))
    return found
