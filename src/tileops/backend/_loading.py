"""Importing the installed backends, each as a transaction."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from tileops.backend._registration import LoadedBackend, LoadFailure
from tileops.errors.wording import shown
from tileops.selection import Origin

if TYPE_CHECKING:
    from tileops.backend._registry import Registry

GROUP = "tileops.backends"

EntryPoints = Callable[[], Iterable[EntryPoint]]


def installed_backends() -> Iterable[EntryPoint]:
    """Return the entry points of the installed distributions."""
    return entry_points(group=GROUP)


def load_backends(
    registry: Registry, points: Iterable[EntryPoint]
) -> tuple[LoadedBackend | LoadFailure, ...]:
    """Import every backend, sorted by (name, value).

    What a failing backend had registered is undone before the next one is imported. An interrupt
    is no failure: it stops the loading, and the next one starts from the beginning.
    """
    ordered = sorted(points, key=lambda one: (one.name, one.value))
    return tuple(_load(registry, point) for point in ordered)


def warn_of(failures: Iterable[LoadFailure]) -> None:
    """Warn once of every backend that failed."""
    for failure in failures:
        warnings.warn(
            f"tileops backend {failure.name!r} ({failure.distribution or failure.value}) failed to "
            f"load and all its registrations are undone: {shown(failure.error)}; "
            "tileops.backend.load_failures() has the traceback",
            RuntimeWarning,
            stacklevel=3,
        )


def _load(registry: Registry, point: EntryPoint) -> LoadedBackend | LoadFailure:
    distribution = None if point.dist is None else f"{point.dist.name} {point.dist.version}"
    origin = Origin(distribution=distribution or f"entry point {point.name}")
    try:
        with registry.journal.transaction(origin):
            point.load()
    except BaseException as error:
        # Whatever an import raises is the failure of its backend; only a person ends the program.
        if type(error) is KeyboardInterrupt:
            raise
        text = "".join(traceback.format_exception(error))
        return LoadFailure(point.name, point.value, distribution, error, text)
    _adopt(registry, point.module, origin)
    return LoadedBackend(point.name, point.value, distribution)


def _adopt(registry: Registry, module: str, origin: Origin) -> None:
    """Attribute to the distribution what its module registered when it was imported earlier."""
    for table in registry.tables:
        for key, one in list(table.items()):
            owner = one.origin.module
            if owner is not None and (owner == module or owner.startswith(f"{module}.")):
                table[key] = replace(one, origin=origin)
