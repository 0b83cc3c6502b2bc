"""Reading op mappings: which ops state something of their own, and how it is written."""

from collections.abc import Iterator

from tileops.lint.index import ClassNode, Entry, Kind, Located, OpTable, Project, Table

__all__ = [
    "displays",
    "distinct",
    "entries",
    "interfaces",
    "label",
    "listed",
    "registered",
    "served",
]

_WRAPPERS = ("MappingProxyType", "dict", "frozendict")


def distinct(project: Project) -> Iterator[OpTable]:
    """Yield the ops that do not merely inherit both mappings of an op yielded before."""
    seen: set[tuple[int, int]] = set()
    for table in sorted(project.tables, key=lambda table: len(table.op.mro)):
        stated = (table.kernel_types, table.interfaces)
        first, second = (0 if t is None else id(t.stated.value) for t in stated)
        if table.registered or table.local or (first, second) not in seen:
            yield table
        seen.add((first, second))


def entries(table: OpTable) -> list[Entry]:
    """Return everything registered for an op outside functions, its own keys first."""
    return table.keys()


def registered(project: Project) -> list[ClassNode]:
    """Return the implementations that stand under a key of some op, each once."""
    found: dict[int, ClassNode] = {}
    for table in project.tables:
        for entry in (*entries(table), *table.local):
            if entry.target is not None and entry.target.kind is Kind.IMPLEMENTATION:
                found[id(entry.target)] = entry.target
    return list(found.values())


def interfaces(table: OpTable) -> list[Entry]:
    """Return the interfaces of an op whose class is known."""
    stated = table.interfaces.entries if table.interfaces else ()
    return [entry for entry in stated if entry.target is not None]


def served(table: OpTable, node: ClassNode) -> list[Entry]:
    """Return the interfaces of an op that a class inherits."""
    return [one for one in interfaces(table) if one.target and node.inherits(one.target)]


def label(entry: Entry) -> str:
    """Name an entry in a message."""
    return "a key" if entry.key is None else f'key "{entry.key}"'


def listed(names: list[str], joint: str = "and") -> str:
    """Return names as a sentence lists them."""
    return f" {joint} ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def displays(project: Project, table: Table) -> Iterator[Located]:
    """Yield the dict displays a mapping is made of."""
    yield from _displays(project, table.stated)


def _displays(project: Project, where: Located) -> Iterator[Located]:
    where = project.evaluate(where.module, where.value)
    module, value = where.module, where.value
    if value.kind == "dict":
        yield where
        for key, item in value.pairs:
            if key.kind == "spread":
                yield from _displays(project, Located(module, item))
    elif value.kind == "binary" and value.data == "BitOr":
        for side in value.items:
            yield from _displays(project, Located(module, side))
    elif value.kind == "call" and value.callee.rpartition(".")[2] in _WRAPPERS:
        for part in value.arguments:
            yield from _displays(project, Located(module, part))
