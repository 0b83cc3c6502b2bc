"""Importing the installed backends, each as a transaction."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from tileops.backend._registration import LoadFailure
from tileops.selection import Origin

if TYPE_CHECKING:
    from tileops.backend._registry import Registry

GROUP = "tileops.backends"

EntryPoints = Callable[[], Iterable[EntryPoint]]


def installed_backends() -> Iterable[EntryPoint]:
    """Return the entry points of the installed distributions."""
    return entry_points(group=GROUP)


def load_backends(registry: Registry, points: Iterable[EntryPoint]) -> tuple[LoadFailure, ...]:
    """Import every backend, sorted by (name, value), and warn once of each that fails.

    What a failing backend had registered is undone before the next one is imported.
    """
    failures = []
    for point in sorted(points, key=lambda one: (one.name, one.value)):
        failure = _load(registry, point)
        if failure is not None:
            failures.append(failure)
    for failure in failures:
        warnings.warn(
            f"tileops backend {failure.name!r} ({failure.distribution or failure.value}) failed to "
            f"load and all its registrations are undone: {failure.error!r}; "
            "tileops.backend.load_failures() has the traceback",
            RuntimeWarning,
            stacklevel=4,
        )
    return tuple(failures)


def _load(registry: Registry, point: EntryPoint) -> LoadFailure | None:
    distribution = None if point.dist is None else f"{point.dist.name} {point.dist.version}"
    origin = Origin(distribution=distribution or f"entry point {point.name}")
    before = registry.snapshot()
    registry.claim(origin)
    try:
        point.load()
    except (Exception, SystemExit) as error:
        registry.restore(before)
        return LoadFailure(
            point.name,
            point.value,
            distribution,
            error,
            "".join(traceback.format_exception(error)),
        )
    except BaseException:
        # An interrupt stops the loading; the next one starts from the beginning.
        registry.restore(before)
        raise
    finally:
        registry.claim(None)
    _adopt(registry, point.module, origin)
    return None


def _adopt(registry: Registry, module: str, origin: Origin) -> None:
    """Attribute to the distribution what its module registered when it was imported earlier."""
    tables: tuple[dict[Any, Any], ...] = (registry.kernels, registry.detectors, registry.builders)
    for table in tables:
        for key, one in list(table.items()):
            owner = one.origin.module
            if owner is not None and (owner == module or owner.startswith(f"{module}.")):
                table[key] = replace(one, origin=origin)
