"""Sweeps: points of a family beyond the manifest's workloads, one module per family."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from tileops.manifest import OpEntry, Workload

__all__ = ["sweep_of"]


def sweep_of(entry: OpEntry) -> tuple[Workload, ...]:
    """Return the points of an op's sweep; none where its family states no sweep."""
    name = f"{__name__}.{entry.family}"
    if find_spec(name) is None:
        return ()
    points: tuple[Workload, ...] = import_module(name).points(entry)
    return points
