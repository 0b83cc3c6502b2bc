"""The linked project: every question a rule may ask about more than one file."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from tileops.lint.facts import FileFacts, Note, Site, Value
from tileops.lint.index._classes import ClassNode, Kind, linearise
from tileops.lint.index._modules import Module, module_table
from tileops.lint.index._requests import Requested, requested
from tileops.lint.index._resolver import Foreign, FunctionNode, Located, Resolver, Target
from tileops.lint.index._tables import Dispatch, Entry, OpTable, table_of

__all__ = ["Project"]

_ROOTS = {
    "interface": ("tileops.kernels.interface", "KernelInterface"),
    "kernel": ("tileops.kernels.kernel", "Kernel"),
    "call_spec": ("tileops.call_spec", "CallSpec"),
    "op": ("tileops.ops.op", "Op"),
}
_BACKEND = "tileops.backend"


class Project:
    """Facts of all files, linked in one process.

    Attributes:
        modules: Every module by dotted name.
        classes: The classes of the files themselves, in the order of path and line.
        rule_ids: The ids of all rules there are, for checking suppressions.
    """

    def __init__(
        self,
        files: Mapping[str, FileFacts],
        external: Mapping[str, FileFacts] | None = None,
        rule_ids: frozenset[str] = frozenset(),
    ) -> None:
        self.files = dict(sorted(files.items()))
        self.rule_ids = rule_ids
        self.modules = module_table(self.files, external or {})
        self.resolver = Resolver(self.modules)
        self.roots = {name: self._root(*where) for name, where in _ROOTS.items()}
        everything = [node for module in self.modules.values() for node in module.classes.values()]
        for node in everything:
            self._link(node, ())
        self.resolver.settle()
        for node in everything:
            node.kind = self._kind(node)
        own = (node for node in everything if not node.module.external)
        self.classes = sorted(own, key=lambda node: (node.module.path, node.facts.span))
        self.known_classes = everything

    def of_kind(self, *kinds: Kind) -> list[ClassNode]:
        """Return the classes of the files that are certainly of one of these kinds."""
        return [node for node in self.classes if node.kind in kinds]

    def notes(self, rule: str) -> Iterator[tuple[ClassNode, Note]]:
        """Yield a body rule's notes, each with the class it is about."""
        for module, note in self._notes.get(rule, ()):
            owner = module.classes.get(note.owner)
            if owner is not None and _around(owner.facts.span, note.span):
                yield owner, note

    def sites(self, *callees: str) -> Iterator[tuple[Module, Site]]:
        """Yield the calls of functions or methods with one of these last names."""
        for callee in callees:
            yield from self._sites.get(callee, ())

    def resolve(self, module: Module, value: Value) -> Target | None:
        """Return what a name means in a module, None when it is unknown or no name."""
        return self.resolver.resolve(module, value.name) if value.kind == "name" else None

    def resolve_class(self, module: Module, value: Value) -> ClassNode | None:
        """Return the class a value names, None when unknown."""
        return self.resolver.resolve_class(module, value)

    def evaluate(self, module: Module, value: Value) -> Located:
        """Follow names of constants to the value they stand for."""
        return self.resolver.evaluate(module, value)

    def imported(self, module: Module, value: Value) -> str:
        """Return the full dotted name of something outside the project, or ""."""
        target = self.resolve(module, value)
        return target.name if isinstance(target, Foreign) else ""

    def constant(self, node: ClassNode, name: str) -> Located | None:
        """Return the evaluated value of a class attribute, found through the linearisation."""
        found = node.lookup(name)
        if found.owner is None or found.attribute is None or found.attribute.value is None:
            return None
        return self.evaluate(found.owner.module, found.attribute.value)

    def is_general(self, node: ClassNode) -> bool | None:
        """Say whether an implementation is general; None when that cannot be read."""
        stated = self.constant(node, "general")
        if stated is None:
            return None
        return bool(stated.value.data) if stated.value.kind == "bool" else None

    def inherited_general(self, dispatch: Dispatch) -> dict[str, str]:
        """Return the keys that are general only through an ancestor, with that ancestor's key."""
        found: dict[str, str] = {}
        for key, entry in dispatch.entries.items():
            if entry.target is None or not self.is_general(entry.target):
                continue
            for other, ancestor in dispatch.entries.items():
                above = ancestor.target
                if above is None or above is entry.target or above not in entry.target.mro:
                    continue
                owner = entry.target.lookup("general").owner
                if self.is_general(above) and owner is above.lookup("general").owner:
                    found.setdefault(key, other)
        return found

    def general_keys(self, dispatch: Dispatch) -> list[str]:
        """Return the general keys of a dispatch, without those of `inherited_general`."""
        inherited = self.inherited_general(dispatch)
        return [
            key
            for key, entry in dispatch.entries.items()
            if key not in inherited and entry.target is not None and self.is_general(entry.target)
        ]

    def preferred(self, node: ClassNode) -> list[tuple[Located, Located]] | None:
        """Return the keys ``preferred_over`` names, each as written and evaluated, or None."""
        found = node.lookup("preferred_over")
        stated = self.constant(node, "preferred_over")
        if stated is None or found.owner is None:
            return None
        value = stated.value
        if value.kind == "call" and value.callee == "frozenset" and not value.names:
            if not value.arguments:
                return []
            stated = self.evaluate(stated.module, value.arguments[0])
        if stated.value.kind not in ("set", "tuple", "list"):
            return None
        where = stated.module
        return [(Located(where, i), self.evaluate(where, i)) for i in stated.value.items]

    def request(self, interface: ClassNode) -> ClassNode | None:
        """Return the call spec an interface requests, None when unknown."""
        stated = self.constant(interface, "request")
        return None if stated is None else self.resolve_class(stated.module, stated.value)

    def interfaces_of(self, node: ClassNode) -> list[ClassNode]:
        """Return the interface classes a class inherits, nearest first."""
        return [base for base in node.mro if base.kind is Kind.INTERFACE]

    @cached_property
    def tables(self) -> list[OpTable]:
        """The mappings of every op, those of the installed library included."""
        ops = [node for node in self.known_classes if node.kind is Kind.OP]
        tables = {op.qualified: self._table(op) for op in ops}
        named: dict[str, OpTable] = {}
        for table in tables.values():
            named.setdefault(table.op.name, table)
        for module, site in self.sites("register_kernel_type"):
            entry = self._registered(module, site)
            op = named.get(self._op_name(module, site))
            if entry is not None and op is not None:
                (op.local if site.function else op.registered).append(entry)
        return list(tables.values())

    @cached_property
    def dispatches(self) -> list[Dispatch]:
        """What each op selects among for each interface.

        An op that inherits both mappings and has no registrations of its own repeats its parent's
        dispatches and is left out.
        """
        seen: set[tuple[int, int]] = set()
        found: list[Dispatch] = []
        for table in sorted(self.tables, key=lambda table: len(table.op.mro)):
            stated = (table.kernel_types, table.interfaces)
            key = tuple(0 if t is None else id(t.stated.value) for t in stated)
            if table.registered or (key[0], key[1]) not in seen:
                found.extend(table.dispatches())
            seen.add((key[0], key[1]))
        return found

    @cached_property
    def local_keys(self) -> dict[str, set[str]]:
        """The keys functions register, tests for example, by the qualified name of the op."""
        return {
            table.op.qualified: {entry.key for entry in table.local if entry.key}
            for table in self.tables
            if table.local
        }

    @cached_property
    def constructed(self) -> list[tuple[Module, Site, ClassNode]]:
        """Every call of a class the project knows, with that class."""
        found: list[tuple[Module, Site, ClassNode]] = []
        for module in self.own_modules:
            for site in module.facts.sites:
                node = self.resolve_class(module, site.call.items[0])
                if node is not None:
                    found.append((module, site, node))
        return found

    @cached_property
    def requested(self) -> list[Requested]:
        """Every place of the files that asks an op for a kernel or a key."""
        found = [(m, site) for m, site in self.sites("kernel_for", "key_for")]
        found += [(module, site) for module in self.own_modules for site in module.facts.requests]
        return [requested(self.resolver, module, site) for module, site in found]

    def table(self, op: ClassNode) -> OpTable | None:
        """Return what is known of an op class."""
        return self._tables_by_op.get(op.qualified)

    @cached_property
    def _tables_by_op(self) -> dict[str, OpTable]:
        return {table.op.qualified: table for table in self.tables}

    def is_backend(self, module: Module, value: Value, name: str) -> bool:
        """Say whether a value names a function ``tileops.backend`` offers."""
        target = self.resolve(module, value)
        if isinstance(target, FunctionNode):
            return target.facts.name == name and target.module.name.startswith(_BACKEND)
        if isinstance(target, Located):
            return target.module.name.startswith(_BACKEND)
        return isinstance(target, Foreign) and target.name == f"{_BACKEND}.{name}"

    def _root(self, module: str, name: str) -> ClassNode | None:
        home = self.modules.get(module)
        return None if home is None else home.classes.get(name)

    def _link(self, node: ClassNode, below: tuple[ClassNode, ...]) -> None:
        if node.linked:
            return
        bases: list[ClassNode | None] = []
        for value in node.facts.bases:
            base = self._base(node.module, value)
            if isinstance(base, Foreign):
                if not base.transparent:
                    bases.append(None)
                continue
            if base is None or base is node or base in below:
                bases.append(None)
                continue
            self._link(base, (*below, node))
            bases.append(base)
        linearise(node, bases)
        node.linked = True

    def _base(self, module: Module, value: Value) -> ClassNode | Foreign | None:
        if value.kind == "subscript":
            return self._base(module, value.items[0])
        found = self.resolve_class(module, value)
        if found is not None:
            return found
        target = self.resolve(module, value)
        return target if isinstance(target, Foreign) else None

    def _kind(self, node: ClassNode) -> Kind:  # noqa: PLR0911
        if node in self.roots.values():
            return Kind.ROOT
        is_a = {name for name, root in self.roots.items() if root is not None and root in node.mro}
        if {"kernel", "interface"} <= is_a:
            return Kind.IMPLEMENTATION
        if "kernel" in is_a:
            return Kind.KERNEL
        if "call_spec" in is_a:
            return Kind.CALL_SPEC
        if "op" in is_a:
            return Kind.OP
        if not node.complete:
            return Kind.UNKNOWN
        return Kind.INTERFACE if "interface" in is_a else Kind.OTHER

    def _table(self, op: ClassNode) -> OpTable:
        kernel_types, keys_known = table_of(self.resolver, op, "kernel_types")
        interfaces, interfaces_known = table_of(self.resolver, op, "interfaces")
        return OpTable(op, keys_known and interfaces_known, kernel_types, interfaces)

    def _op_name(self, module: Module, site: Site) -> str:
        op = _argument(site, 0, "op")
        return "" if op is None else self.evaluate(module, op).value.text or ""

    def _registered(self, module: Module, site: Site) -> Entry | None:
        key, kernel_type = _argument(site, 1, "key"), _argument(site, 2, "kernel_type")
        if key is None or kernel_type is None:
            return None
        if not self.is_backend(module, site.call.items[0], "register_kernel_type"):
            return None
        text = self.evaluate(module, key).value.text
        target = self.resolve_class(module, kernel_type)
        return Entry(text, Located(module, key), Located(module, kernel_type), target, site)

    @cached_property
    def _notes(self) -> dict[str, list[tuple[Module, Note]]]:
        found: dict[str, list[tuple[Module, Note]]] = {}
        for module in self.own_modules:
            for note in module.facts.notes:
                found.setdefault(note.rule, []).append((module, note))
        return found

    @cached_property
    def _sites(self) -> dict[str, list[tuple[Module, Site]]]:
        found: dict[str, list[tuple[Module, Site]]] = {}
        for module in self.own_modules:
            for site in module.facts.sites:
                found.setdefault(site.callee.rpartition(".")[2], []).append((module, site))
        return found

    @cached_property
    def own_modules(self) -> list[Module]:
        """The modules of the files, by path."""
        own = [module for module in self.modules.values() if not module.external]
        return sorted(own, key=lambda module: module.path)


def _argument(site: Site, position: int, name: str) -> Value | None:
    arguments = site.call.arguments
    return arguments[position] if position < len(arguments) else site.call.keyword(name)


def _around(outer: tuple[int, int, int, int], inner: tuple[int, int, int, int]) -> bool:
    return outer[0] <= inner[0] and inner[2] <= outer[2]
