"""The index of the installed library, shipped as ``_index.json``, for linting other packages.

``python -m tileops.lint._library`` writes it anew from the sources it lies beside.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import msgspec

from tileops.lint.facts import FileFacts, facts_of

__all__ = ["index_text", "library_facts"]

_NOWHERE = (1, 0, 1, 0)
_UNPLACED = {
    "span": _NOWHERE,
    "name_span": _NOWHERE,
    "header": (1, 1),
    "body": 0,
    "docstring": None,
    "calls": (),
}

_FILE = Path(__file__).parent / "_index.json"
_PACKAGE = Path(__file__).parent.parent
# What the contract is made of; the tools beside it have no classes a backend could name.
_PARTS = ("backend", "kernels", "ops", "call_spec.py", "device.py", "tensor_spec.py", "__init__.py")


@cache
def library_facts() -> Mapping[str, FileFacts]:
    """Return the facts of the library's files, by path."""
    return msgspec.json.decode(_FILE.read_bytes(), type=dict[str, FileFacts])


def index_text() -> str:
    """Return the index of the sources at hand: one file a line, without positions and prose."""
    lines: list[str] = []
    for file in sorted(_PACKAGE.rglob("*.py")):
        relative = file.relative_to(_PACKAGE)
        if relative.parts[0] in _PARTS and "programs" not in relative.parts:
            facts = msgspec.json.encode(_slim(facts_of(file.read_bytes()))).decode()
            lines.append(f'"src/tileops/{relative.as_posix()}": {facts}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _slim(facts: FileFacts) -> FileFacts:
    """Keep what linking asks of a file that is never reported on.

    Without positions the index changes only when a definition does.
    """
    kept = FileFacts(
        imports=facts.imports,
        stars=facts.stars,
        constants=facts.constants,
        classes=facts.classes,
        functions=facts.functions,
    )
    return cast(FileFacts, _unplaced(kept))


def _unplaced(value: Any) -> Any:
    """Return a value whose records have no positions, docstrings or call lists."""
    if isinstance(value, tuple):
        return tuple(_unplaced(item) for item in value)
    if isinstance(value, dict):
        return {name: _unplaced(item) for name, item in value.items()}
    if not isinstance(value, msgspec.Struct):
        return value
    kept = {name: _unplaced(getattr(value, name)) for name in value.__struct_fields__}
    for name, nothing in _UNPLACED.items():
        if name in kept:
            kept[name] = nothing
    return type(value)(**kept)


if __name__ == "__main__":
    _FILE.write_text(index_text(), "utf-8")
