"""One libcst slice of a contract class, as body rules see it: a method or a class header."""

import re
from functools import cached_property
from typing import Any, TypeVar

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from tileops.lint._syntax import walk
from tileops.lint.facts import ClassFacts, FunctionFacts, Note, Span

__all__ = ["Body", "split_lines"]

Node = TypeVar("Node", bound=cst.CSTNode)
_LINE_END = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")


def split_lines(text: str) -> list[str]:
    """Return the lines of a text with their line ends."""
    return _LINE_END.split(text)


class Body:
    """A slice that was cut out of a file and parsed alone.

    Attributes:
        owner: The facts of the class.
        method: The facts of the method, None when the slice is the class header.
        node: The parsed definition; the body of a class header is ``...``.
    """

    def __init__(
        self, lines: list[str], owner: ClassFacts, method: FunctionFacts | None = None
    ) -> None:
        self.owner = owner
        self.method = method
        self._lines = lines
        first, last = owner.header if method is None else (method.span[0], method.span[2])
        indent = re.match(r"[ \t\f]*", lines[first - 1])
        assert indent is not None
        # A block around the slice lets it keep its columns.
        opening = "if 1:\n" if indent.group() else "\n"
        text = opening + "".join(lines[first - 1 : last])
        if method is None and owner.body == last:
            text = opening + "".join(lines[first - 1 : owner.span[2]])
        elif method is None and owner.span[2] > last:
            text = f"{text.rstrip()}\n{indent.group()}    ...\n"
        self._shift = first - 2
        self._module = cst.parse_module(text)
        self.node = _definition(self._module)

    @property
    def function(self) -> cst.FunctionDef:
        """The slice's method."""
        assert isinstance(self.node, cst.FunctionDef)
        return self.node

    @cached_property
    def nodes(self) -> list[cst.CSTNode]:
        """Every node of the slice in pre-order, without whitespace and brackets."""
        return walk(self.node)

    def of(self, kind: type[Node]) -> list[Node]:
        """Return the nodes of one class, in source order."""
        return [node for node in self.nodes if isinstance(node, kind)]

    @cached_property
    def _positions(self) -> Any:
        # Computed only for slices that have something to report: it costs more than parsing.
        wrapper = MetadataWrapper(self._module, unsafe_skip_copy=True)
        return wrapper.resolve(PositionProvider)

    def span(self, node: cst.CSTNode) -> Span:
        """Return where a node stands in the file, its own brackets included."""
        where: CodeRange = self._positions[node]
        opening = "".join(self._module.code_for_node(p) for p in getattr(node, "lpar", ()))
        closing = "".join(self._module.code_for_node(p) for p in getattr(node, "rpar", ()))
        start = self._back(where.start.line + self._shift, where.start.column, opening)
        end = self._forth(where.end.line + self._shift, where.end.column, closing)
        return (start[0], self._bytes(*start), end[0], self._bytes(*end))

    def note(self, rule: str, where: cst.CSTNode | Span, **data: Any) -> Note:
        """Return a note of a rule about a node, or about a span the facts give."""
        span = self.span(where) if isinstance(where, cst.CSTNode) else where
        method = "" if self.method is None else self.method.name
        return Note(rule, self.owner.name, method, span, data)

    def _back(self, line: int, column: int, text: str) -> tuple[int, int]:
        """Return the position a text that ends at a position starts at."""
        first, *rest = split_lines(text)
        if not rest:
            return line, column - len(text)
        line -= len(rest)
        return line, len(self._lines[line - 1]) - len(first)

    def _forth(self, line: int, column: int, text: str) -> tuple[int, int]:
        """Return the position a text that starts at a position ends at."""
        lines = split_lines(text)
        if len(lines) == 1:
            return line, column + len(text)
        # Rendered alone, the text lacks the indentation of the block it stands in.
        line += len(lines) - 1
        stated = self._lines[line - 1]
        return line, len(stated) - len(stated.lstrip()) + len(lines[-1].lstrip())

    def _bytes(self, line: int, column: int) -> int:
        text = self._lines[line - 1]
        return column if text.isascii() else len(text[:column].encode("utf-8", "surrogateescape"))


def _definition(module: cst.Module) -> cst.FunctionDef | cst.ClassDef:
    statement = module.body[0]
    if isinstance(statement, cst.If):
        statement = statement.body.body[0]  # type: ignore[assignment]
    assert isinstance(statement, cst.FunctionDef | cst.ClassDef)
    return statement
