"""The facts of one file: plain frozen records, a pure function of the file's bytes.

They travel through the cache, so they hold no tree and no path. Positions are those of `ast`.
"""

from typing import Any

import msgspec

__all__ = [
    "Attribute",
    "ClassFacts",
    "EntryPoint",
    "FileFacts",
    "FunctionFacts",
    "Ignore",
    "Note",
    "Param",
    "Read",
    "Site",
    "Span",
    "SyntaxProblem",
    "Value",
]

Span = tuple[int, int, int, int]
"""First line, first column, last line, end column: lines from 1, columns in UTF-8 bytes from 0."""


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A frozen record written as an array."""


class Value(Record, frozen=True):
    """A literal, a name, or a display or call made of them, as the source states it.

    Kinds and what they hold:

    * "none", "bool", "int", "float", "str", "ellipsis": ``data`` is the value;
    * "name": ``data`` is the dotted name as written;
    * "list", "tuple", "set": ``items`` are the elements;
    * "dict": ``items`` are key, value, key, value, ...; the key of ``**x`` has kind "spread";
    * "call": ``items`` are the callee, the positional arguments, then one value per name in
      ``names``, where "**" names a spread mapping;
    * "starred": ``items`` is what is starred;
    * "subscript": ``items`` are the value and the index;
    * "binary": ``data`` is the operator, ``items`` the two sides;
    * "attribute": ``items`` is a value that is no name, ``data`` the attribute read of it;
    * "lambda": ``items`` is its body;
    * "comprehension": ``data`` is "list", "set", "dict" or "generator";
    * "unknown": anything else; ``data`` is the name of its node.
    """

    kind: str
    span: Span
    data: bool | int | float | str | None = None
    items: tuple["Value", ...] = ()
    names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The dotted name this is, or ""."""
        return str(self.data) if self.kind == "name" else ""

    @property
    def text(self) -> str | None:
        """The string this is, or None."""
        return str(self.data) if self.kind == "str" else None

    @property
    def pairs(self) -> list[tuple["Value", "Value"]]:
        """The keys and values of a dict display."""
        return list(zip(self.items[::2], self.items[1::2], strict=True))

    @property
    def callee(self) -> str:
        """The dotted name of what a call calls, or ""."""
        return self.items[0].name if self.kind == "call" else ""

    @property
    def arguments(self) -> tuple["Value", ...]:
        """The positional arguments of a call."""
        return self.items[1 : len(self.items) - len(self.names)]

    @property
    def keywords(self) -> list[tuple[str, "Value"]]:
        """The keyword arguments of a call; "**" names a spread mapping."""
        first = len(self.items) - len(self.names)
        return list(zip(self.names, self.items[first:], strict=True))

    def keyword(self, name: str) -> "Value | None":
        """Return the keyword argument of that name."""
        return dict(self.keywords).get(name)


class Param(Record, frozen=True):
    """A parameter; ``kind`` is "positional", "variadic", "keyword" or "mapping"."""

    name: str
    kind: str
    span: Span
    annotation: Value | None = None
    default: Value | None = None


class Read(Record, frozen=True):
    """An attribute read of a parameter; ``guarded`` when through ``getattr`` with a default."""

    param: str
    attribute: str
    span: Span
    guarded: bool = False


class FunctionFacts(Record, frozen=True):
    """A function or method.

    ``header`` is its first and last header line, decorators included. ``trivial`` means the body is
    a docstring, ``...``, ``pass`` or ``raise NotImplementedError`` and nothing else. ``reads``
    are the attributes read of its parameters and ``escapes`` the parameters used in any other
    way. ``calls`` are the dotted names it calls, each once.
    """

    name: str
    span: Span
    name_span: Span
    header: tuple[int, int]
    params: tuple[Param, ...] = ()
    decorators: tuple[Value, ...] = ()
    returns: Value | None = None
    docstring: str | None = None
    trivial: bool = False
    asynchronous: bool = False
    generator: bool = False
    reads: tuple[Read, ...] = ()
    escapes: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


class Attribute(Record, frozen=True):
    """A name a class body binds, with or without annotation or value."""

    name: str
    span: Span
    name_span: Span
    annotation: Value | None = None
    value: Value | None = None


class ClassFacts(Record, frozen=True):
    """A class statement; ``scope`` is "module", "conditional", "class" or "function".

    ``body`` is the line its first statement after the docstring starts on.
    """

    name: str
    span: Span
    name_span: Span
    header: tuple[int, int]
    scope: str = "module"
    bases: tuple[Value, ...] = ()
    keywords: tuple[str, ...] = ()
    decorators: tuple[Value, ...] = ()
    docstring: str | None = None
    attributes: tuple[Attribute, ...] = ()
    methods: tuple[FunctionFacts, ...] = ()
    body: int = 0

    def method(self, name: str) -> FunctionFacts | None:
        """Return the last method of that name the body defines."""
        return next((m for m in reversed(self.methods) if m.name == name), None)

    def attribute(self, name: str) -> Attribute | None:
        """Return the last binding of that name in the body."""
        return next((a for a in reversed(self.attributes) if a.name == name), None)


class Site(Record, frozen=True):
    """A call that concerns the contract: selection, registration, or an instance of some class.

    Outside functions, calls of ``compile`` and ``jit`` are sites too.

    ``target`` says where the result goes: a dotted name, ``name[]`` for an item of it, "return",
    "()" when it is called at once, ".name" when an attribute of it is read at once, or "".
    ``members`` are the attributes read of a local the result is bound to. ``bindings`` gives the
    value of every local the call mentions that is bound once in its function. ``raises`` says
    whether it stands in ``with pytest.raises(...)``: "", "bare" or "match". ``function`` is ""
    outside functions, and "__main__" in a block that only a script runs.
    """

    call: Value
    owner: str = ""
    function: str = ""
    target: str = ""
    raises: str = ""
    members: tuple[tuple[str, Span], ...] = ()
    bindings: dict[str, Value] = {}

    @property
    def callee(self) -> str:
        """The dotted name of what is called; ".name" for an attribute of what has no name."""
        callee = self.call.items[0]
        return f".{callee.data}" if callee.kind == "attribute" else callee.name


class Ignore(Record, frozen=True):
    """A suppression comment, the rules it names, and the header lines of the statement it is on."""

    span: Span
    rules: tuple[str, ...]
    reason: str
    header: tuple[int, int]


class Note(Record, frozen=True):
    """What a body rule saw in one slice, kept until linking decides whether it is a finding.

    ``method`` is "" for a class header; ``data`` is the rule's own.
    """

    rule: str
    owner: str
    method: str
    span: Span
    data: dict[str, Any] = {}


class EntryPoint(Record, frozen=True):
    """One backend a ``pyproject.toml`` declares: its name, the module it names, and where."""

    name: str
    module: str
    span: Span


class SyntaxProblem(Record, frozen=True):
    """Why no parser takes the file, and where."""

    line: int
    column: int
    message: str


class FileFacts(Record, frozen=True):
    """Everything the linter knows of one file.

    ``imports`` maps each module-level name to what it was imported from, dotted, with leading dots
    when relative. ``requests`` are the ``(key, spec)`` pairs in methods named ``requests``; their
    ``call`` is the pair. ``constants`` are the names the module binds once to a `Value`.
    ``names`` are all attribute names the file reads, strings given to ``getattr`` included.
    ``calls`` are the dotted names called outside any function. ``texts`` are the identifiers that
    stand in strings of a file that asks ``key_for``. ``entry_points`` and ``ignores`` are all that
    is kept of a ``pyproject.toml``.
    """

    imports: dict[str, str] = {}
    stars: tuple[str, ...] = ()
    constants: dict[str, Value] = {}
    classes: tuple[ClassFacts, ...] = ()
    functions: tuple[FunctionFacts, ...] = ()
    sites: tuple[Site, ...] = ()
    requests: tuple[Site, ...] = ()
    names: tuple[str, ...] = ()
    ignores: tuple[Ignore, ...] = ()
    notes: tuple[Note, ...] = ()
    entry_points: tuple[EntryPoint, ...] = ()
    newer: bool = False
    problem: SyntaxProblem | None = None
    calls: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
