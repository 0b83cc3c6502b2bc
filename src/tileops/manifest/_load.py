"""Loading a manifest: every file of a folder, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from tileops.manifest._entry import OpEntry

SPEC = Path(__file__).parent / "spec"


def load(folder: Path | None = None) -> Mapping[str, OpEntry]:
    """Return the entries of a manifest by op name.

    Args:
        folder: A folder with one ``<family>.yaml`` per family; by default the one shipped, which
            is read once per process.

    Returns:
        Entries in the order of the files' names and, within a file, as written.

    Raises:
        ManifestError: Something is malformed; the error names file, line and path.
    """
    return _shipped() if folder is None else _load(folder)


def op_names() -> tuple[str, ...]:
    """Return the names of the ops in the manifest shipped, sorted."""
    return tuple(sorted(load()))


@cache
def _shipped() -> Mapping[str, OpEntry]:
    return _load(SPEC)


def _load(folder: Path) -> Mapping[str, OpEntry]:
    # Reading needs the YAML parser; the records alone do not.
    from tileops.manifest._node import read_yaml
    from tileops.manifest._read_entry import read_entry

    entries: dict[str, OpEntry] = {}
    for file in sorted(folder.glob("*.yaml")):
        for name, node in read_yaml(file).items().items():
            if name in entries:
                raise node.error(f"{name} already has an entry in {entries[name].family}.yaml")
            entries[name] = read_entry(name, file.stem, node)
    return MappingProxyType(entries)
