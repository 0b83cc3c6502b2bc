"""What each op registers: its keys, its interfaces, and which key serves which interface."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tileops.lint.facts import Site, Value
from tileops.lint.index._classes import ClassNode
from tileops.lint.index._modules import Module
from tileops.lint.index._resolver import Located, Resolver

__all__ = ["Dispatch", "Entry", "OpTable", "Table", "table_of"]

_WRAPPERS = ("MappingProxyType", "dict", "frozendict")


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of an op mapping, or one ``register_kernel_type`` call.

    ``key`` is the evaluated string, None when computed; ``stated_key`` and ``stated`` are where
    the key and the class are written; ``target`` is the class, None when unknown.
    """

    key: str | None
    stated_key: Located
    stated: Located
    target: ClassNode | None
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A ``kernel_types`` or ``interfaces`` mapping, resolved through inheritance and constants.

    ``complete`` is False when a part of it could not be read. ``entries`` keeps duplicate keys.
    """

    owner: ClassNode
    stated: Located
    entries: tuple[Entry, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The keys one op selects among for one of its interfaces, in the order of declaration.

    ``op_keys`` are the keys of the op for any interface; ``complete`` is False when a key, an
    interface or a class of the op could not be read.
    """

    op: ClassNode
    name: str
    interface: ClassNode
    entries: dict[str, Entry]
    op_keys: frozenset[str]
    complete: bool


@dataclass(slots=True)
class OpTable:
    """Everything known of one op class.

    ``kernel_types`` and ``interfaces`` are None when no class of the linearisation states them;
    ``known`` is False when an unresolved base might. ``registered`` are calls at module level,
    ``local`` those inside functions.
    """

    op: ClassNode
    known: bool
    kernel_types: Table | None
    interfaces: Table | None
    registered: list[Entry] = field(default_factory=list)
    local: list[Entry] = field(default_factory=list)

    def keys(self) -> list[Entry]:
        """Return every entry of the op: in-tree ones, then registered ones."""
        own = self.kernel_types.entries if self.kernel_types else ()
        return [*own, *self.registered]

    @property
    def complete(self) -> bool:
        """Whether every key and interface of the op could be read."""
        tables = (self.kernel_types, self.interfaces)
        return self.known and all(table is None or table.complete for table in tables)

    def dispatches(self) -> Iterator[Dispatch]:
        """Yield the dispatch of each interface whose class is known.

        Where a key is registered more than once, there is a dispatch with each of its classes, so
        that what else is wrong with one shows beside the key that it should not have.
        """
        for interface in self.interfaces.entries if self.interfaces else ():
            target = interface.target
            if interface.key is None or target is None:
                continue
            known = all(e.target is not None and e.target.complete for e in self.keys())
            keys = frozenset(entry.key for entry in self.keys() if entry.key is not None)
            complete = self.complete and known
            for entries in self._entries(target):
                yield Dispatch(self.op, interface.key, target, entries, keys, complete)

    def _entries(self, interface: ClassNode) -> Iterator[dict[str, Entry]]:
        """Yield the keys of an interface, once with each class that is registered for a key."""
        stated: dict[str, list[Entry]] = {}
        for entry in self.keys():
            if entry.key is not None and entry.target and entry.target.inherits(interface):
                held = stated.setdefault(entry.key, [])
                # A mapping that states a key again overrides it; a registration only clashes.
                if entry.site is None:
                    held.clear()
                held.append(entry)
        usual = {key: entries[-1] for key, entries in stated.items()}
        yield usual
        for key, entries in stated.items():
            for entry in entries[:-1]:
                yield {**usual, key: entry}


def table_of(resolver: Resolver, op: ClassNode, name: str) -> tuple[Table | None, bool]:
    """Return an op's mapping of that name, and whether it is certain that this is the one."""
    found = op.lookup(name)
    if not found.known:
        return None, False
    if found.owner is None:
        return None, True
    value = found.attribute.value if found.attribute else None
    if value is None:
        return None, found.attribute is not None
    where = Located(found.owner.module, value)
    entries: list[Entry] = []
    complete = _read(resolver, where, entries)
    return Table(found.owner, where, tuple(entries), complete), True


def _read(resolver: Resolver, where: Located, entries: list[Entry]) -> bool:
    """Append the entries a mapping states; return whether all of them could be read."""
    where = resolver.evaluate(where.module, where.value)
    module, value = where.module, where.value
    if value.kind == "dict":
        read = [_item(resolver, module, key, item, entries) for key, item in value.pairs]
        return all(read)
    if value.kind == "binary" and value.data == "BitOr":
        read = [_read(resolver, Located(module, side), entries) for side in value.items]
        return all(read)
    if value.kind == "call" and value.callee.rpartition(".")[2] in _WRAPPERS and not value.names:
        read = [_read(resolver, Located(module, part), entries) for part in value.arguments]
        return all(read)
    return False


def _item(
    resolver: Resolver, module: Module, key: Value, value: Value, entries: list[Entry]
) -> bool:
    if key.kind == "spread":
        return _read(resolver, Located(module, value), entries)
    text = resolver.evaluate(module, key).value.text
    target = resolver.resolve_class(module, value)
    entries.append(Entry(text, Located(module, key), Located(module, value), target))
    return text is not None and target is not None
