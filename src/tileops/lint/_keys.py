"""Renaming a key of ``kernel_types`` wherever it is written."""

from collections.abc import Iterator
from itertools import chain

from tileops.findings import Edit
from tileops.lint._registrations import in_tests
from tileops.lint._rule import Sources
from tileops.lint._source import Source
from tileops.lint.index import Kind, Located, Module, Project

__all__ = ["rename_key"]


def rename_key(project: Project, sources: Sources, old: str, new: str) -> list[Edit]:
    """Return the edits that rename a key in every file, or none when one place stands in the way.

    Renamed are the op mappings and registrations, the preferences of implementations, and equal
    strings in tests. In the way stand a constant that states the key, a key of the new name, and
    tests where the old name is the name of an interface as well.
    """
    from tileops.lint._edits import requote

    stated = [*_keys(project, old), *_preferences(project, old)]
    if any(where.value.kind != "str" for where in stated) or any(_keys(project, new)):
        return []
    places = {(w.module.path, w.value.span): w for w in stated if not w.module.external}
    edits = [
        edit
        for where in places.values()
        for edit in requote(sources[where.module.path], where.value.span, new)
    ]
    tests = [m for m in project.own_modules if in_tests(m) and old in sources[m.path].text]
    if tests and _is_interface(project, old):
        return []
    for module in tests:
        edits += _strings(sources[module.path], module, old, new)
    return edits


def _keys(project: Project, key: str) -> Iterator[Located]:
    """Yield where a key of an op is stated."""
    for table in project.tables:
        for entry in chain(table.keys(), table.local):
            if entry.key == key:
                yield entry.stated_key


def _preferences(project: Project, key: str) -> Iterator[Located]:
    for node in project.of_kind(Kind.IMPLEMENTATION, Kind.KERNEL):
        for stated, value in project.preferred(node) or ():
            if value.value.text == key:
                yield stated


def _is_interface(project: Project, name: str) -> bool:
    stated = (table.interfaces.entries for table in project.tables if table.interfaces)
    return any(entry.key == name for entry in chain.from_iterable(stated))


def _strings(source: Source, module: Module, old: str, new: str) -> Iterator[Edit]:
    """Yield the edits of the string literals of a module that equal the old key."""
    import libcst as cst
    from libcst.metadata import MetadataWrapper, PositionProvider

    from tileops.findings import Range
    from tileops.lint._syntax import walk

    wrapper = MetadataWrapper(cst.parse_module(source.text), unsafe_skip_copy=True)
    positions = wrapper.resolve(PositionProvider)
    for node in walk(wrapper.module):
        if isinstance(node, cst.SimpleString) and node.evaluated_value == old:
            where = positions[node]
            place = Range(
                where.start.line, where.start.column + 1, where.end.line, where.end.column + 1
            )
            yield Edit(module.path, place, f"{node.prefix}{node.quote}{new}{node.quote}")
