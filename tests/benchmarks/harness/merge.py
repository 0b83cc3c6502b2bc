"""Results files of one commit on one kind of board, joined into one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from harness.record import HostRow, Part, Results, Row

__all__ = ["DifferentRunsError", "RepeatedWorkloadError", "merged"]


Measured = TypeVar("Measured", Row, HostRow)


class DifferentRunsError(ValueError):
    """Results that were measured under different conditions.

    Attributes:
        what: The condition.
        paths: Two files that differ in it.
        values: What they say of it, by the members that differ where it has members.
    """

    def __init__(self, what: str, paths: tuple[Path, Path], values: tuple[object, object]) -> None:
        self.what, self.paths, self.values = what, paths, _differing(*values)
        super().__init__(
            f"cannot join {paths[0]} and {paths[1]}: their {what} differ, {_said(self.values[0])} "
            f"and {_said(self.values[1])}; run both again alike"
        )


def _differing(one: object, other: object) -> tuple[object, object]:
    """Leave out the members that two values share."""
    if isinstance(one, msgspec.Struct) and isinstance(other, msgspec.Struct):
        return _differing(msgspec.structs.asdict(one), msgspec.structs.asdict(other))
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return one, other
    names = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    first, second = ({name: which.get(name) for name in names} for which in (one, other))
    return first, second


def _said(value: object) -> str:
    if not isinstance(value, dict):
        return "none" if value is None else str(value)
    return ", ".join(f"{name} {'none' if v is None else v}" for name, v in value.items())


class RepeatedWorkloadError(ValueError):
    """Two results of one workload, of which only one can be kept.

    Attributes:
        name: The op and the workload.
        paths: The files that hold it.
    """

    def __init__(self, name: str, paths: tuple[Path, Path]) -> None:
        self.name, self.paths = name, paths
        super().__init__(
            f"cannot join {paths[0]} and {paths[1]}: both hold {name}, with different figures; "
            "leave one of the files out"
        )


def merged(runs: Mapping[Path, Results]) -> Results:
    """Join runs; the first ceilings stand for all, and every run's own are in its part.

    The host times of an op come from a run that measured host times alone where there is one: what
    else was measured beside the others may have disturbed them.

    Raises:
        DifferentRunsError: The runs differ in schema, commit, board, versions or settings.
        RepeatedWorkloadError: Two runs hold one workload with different figures.
    """
    (first_path, first), *others = runs.items()
    for path, one in others:
        for what, of in CONDITIONS.items():
            values = of(first), of(one)
            if values[0] != values[1]:
                raise DifferentRunsError(what, (first_path, path), values)
    rows = _joined({path: {_name(row): row for row in one.rows} for path, one in runs.items()})
    hosts = _hosts(runs)
    unfinished = dict.fromkeys(name for one in runs.values() for name in one.unfinished)
    peers = dict.fromkeys(name for one in runs.values() for name in one.settings.peers)
    return msgspec.structs.replace(
        first,
        created=min(one.created for one in runs.values()),
        settings=msgspec.structs.replace(
            first.settings,
            peers=tuple(peers),
            hosts_only=all(one.settings.hosts_only for one in runs.values()),
        ),
        ceilings=next((one.ceilings for one in runs.values() if one.ceilings is not None), None),
        rows=tuple(rows.values()),
        hosts=tuple(hosts.values()),
        unfinished=tuple(name for name in unfinished if name not in rows),
        parts=tuple(part for one in runs.values() for part in _parts(one)),
    )


# How much memory a board reports depends on its retired pages; the peers depend on the ops, and on
# what is measured.
CONDITIONS: Mapping[str, Callable[[Results], object]] = {
    "schemas": lambda one: one.schema,
    "commits": lambda one: one.commit,
    "boards": lambda one: msgspec.structs.replace(one.board, memory_bytes=0),
    "versions": lambda one: one.versions,
    "settings": lambda one: msgspec.structs.replace(one.settings, peers=(), hosts_only=False),
}


def _joined(runs: Mapping[Path, Mapping[str, Measured]]) -> dict[str, Measured]:
    found: dict[str, Measured] = {}
    origin: dict[str, Path] = {}
    for path, rows in runs.items():
        for name, row in rows.items():
            if found.setdefault(name, row) != row:
                raise RepeatedWorkloadError(name, (origin[name], path))
            origin.setdefault(name, path)
    return found


def _hosts(runs: Mapping[Path, Results]) -> dict[str, HostRow]:
    """Return the host times that are kept, in the order of the runs."""
    alone = {
        host.op for one in runs.values() if one.settings.hosts_only for host in one.hosts if host.us
    }
    return _joined(
        {
            path: {
                _name(host): host
                for host in one.hosts
                if host.us and (one.settings.hosts_only or host.op not in alone)
            }
            for path, one in runs.items()
        }
    )


def _parts(one: Results) -> Sequence[Part]:
    if one.parts:
        return one.parts
    ops = dict.fromkeys(row.op for row in one.rows)
    hosts = dict.fromkeys(host.op for host in one.hosts)
    return (Part(created=one.created, ops=tuple(ops), ceilings=one.ceilings, hosts=tuple(hosts)),)


def _name(row: Row | HostRow) -> str:
    return f"{row.op}/{row.workload}"
