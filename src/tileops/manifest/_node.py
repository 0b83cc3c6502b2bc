"""A YAML file as values that know their file, line and path.

YAML 1.2's core schema: ``yes`` and ``off`` are texts, ``1e-5`` is a number. A key stated twice is
an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tileops.errors import ManifestError
from tileops.manifest._form import nearest

Children = dict[str, "Node"] | list["Node"] | None


@dataclass(frozen=True)
class Node:
    """One value of a file.

    Attributes:
        value: The plain value: None, bool, int, float, text, list or dict.
        file: The file's name.
        line: The line it starts on, from 1.
        path: Its place, such as ``LayerNormFwdOp.signature.inputs.input``.
        children: The nodes of a mapping or a list, or None.
    """

    value: Any
    file: str
    line: int
    path: str
    children: Children

    def error(self, problem: object) -> ManifestError:
        """Return the error that this value has a problem."""
        return ManifestError(file=self.file, line=self.line, path=self.path, problem=str(problem))

    def items(self) -> dict[str, Node]:
        """Return the entries of a mapping."""
        if not isinstance(self.children, dict):
            raise self.error(f"expected a mapping, got {self.value!r}")
        return self.children

    def elements(self) -> list[Node]:
        """Return the elements of a list."""
        if not isinstance(self.children, list):
            raise self.error(f"expected a list, got {self.value!r}")
        return self.children

    def get(self, key: str) -> Node | None:
        """Return the entry of a mapping, or None."""
        return self.items().get(key)

    def at(self, *keys: str) -> Node:
        """Return the node a path leads to, or the last one there is on the way."""
        node = self
        for key in keys:
            found = node.children.get(key) if isinstance(node.children, dict) else None
            if found is None:
                return node
            node = found
        return node

    def only(self, fields: list[str], required: list[str]) -> None:
        """Raise unless the mapping has no field but these, and every required one."""
        for name, child in self.items().items():
            if name not in fields:
                raise child.error(f"unknown field {name!r}{nearest(name, fields)}")
        for name in required:
            if name not in self.items():
                raise self.error(f"the field {name!r} is missing")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML's composer with the scalars of YAML 1.2's core schema."""

    yaml_implicit_resolvers: dict[str, Any] = {}


_SCALARS: list[tuple[str, str, Callable[[str], Any]]] = [
    ("null", r"|~|null", lambda text: None),
    ("bool", r"true|false", lambda text: text == "true"),
    ("int", r"[-+]?\d+", int),
    ("float", r"[-+]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][-+]?\d+)?", float),
]
for _name, _form, _ in _SCALARS:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(rf"^(?:{_form})$"), None)
_CONVERT = {f"tag:yaml.org,2002:{name}": convert for name, _, convert in _SCALARS}


def read_yaml(file: Path) -> Node:
    """Return the contents of a YAML file.

    Raises:
        ManifestError: The file cannot be read, is not YAML, or states a key twice.
    """
    name = str(file)
    try:
        text = file.read_text(encoding="utf-8")
        depth = 0
        for event in yaml.parse(text, Loader=_Loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            # Composing descends as deep, and beyond some thousand levels ends the process.
            if depth > _DEEPEST:
                raise _file_error(name, event.start_mark, "nests too deep")
            # Unquoted, the splice of a shape reads as YAML's reference to an anchor.
            if isinstance(event, yaml.AliasEvent):
                raise _file_error(name, event.start_mark, _ALIAS)
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _file_error(name, mark, error.problem or error) from error
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise _file_error(name, None, error) from error
    if root is None:
        return Node({}, name, 1, "", {})
    return _node(root, name, root.start_mark.line + 1, "")


_DEEPEST = 100
_ALIAS = "an alias has no place here; put a shape in quotes, like '[*B, N]'"


def _file_error(file: str, mark: Any, problem: object) -> ManifestError:
    line = mark.line + 1 if mark else 1
    return ManifestError(file=file, line=line, path="(file)", problem=str(problem))


def _node(node: yaml.Node, file: str, line: int, path: str) -> Node:
    if isinstance(node, yaml.MappingNode):
        entries = dict(_entries(node, file, path))
        value: Any = {key: child.value for key, child in entries.items()}
        return Node(value, file, line, path, entries)
    if isinstance(node, yaml.SequenceNode):
        elements = [
            _node(item, file, item.start_mark.line + 1, f"{path}[{index}]")
            for index, item in enumerate(node.value)
        ]
        return Node([child.value for child in elements], file, line, path, elements)
    return Node(_CONVERT.get(node.tag, str)(node.value), file, line, path, None)


def _entries(node: yaml.MappingNode, file: str, path: str) -> Iterator[tuple[str, Node]]:
    seen: set[str] = set()
    for key_node, value_node in node.value:
        key, line = str(key_node.value), key_node.start_mark.line + 1
        place = f"{path}.{key}" if path else key
        if key in seen:
            raise ManifestError(file=file, line=line, path=place, problem="stated twice")
        seen.add(key)
        yield key, _node(value_node, file, line, place)
