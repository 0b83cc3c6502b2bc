"""Building edits: what a rule's repair is made of.

An edit replaces a span of the source text; the text it puts there is rendered by libcst. Nothing
else of the file is printed again, so comments, blanks and line ends around an edit stay.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

import libcst as cst

from tileops.findings import Edit, Range
from tileops.lint._body import Body, split_lines
from tileops.lint._source import Source
from tileops.lint._syntax import code
from tileops.lint.facts import ClassFacts, FileFacts, FunctionFacts, Span

__all__ = [
    "append_member",
    "append_statement",
    "decorate",
    "decorator",
    "delete_lines",
    "insert_above",
    "insert_member",
    "rename_local",
    "replace",
    "require_import",
    "requote",
    "rewrite",
    "statement",
]

Expression = TypeVar("Expression", bound=cst.BaseExpression)


def replace(source: Source, span: Span, text: str) -> Edit:
    """Return the edit that puts a text in place of a span."""
    return Edit(source.path, source.range(span), text)


def rewrite(
    source: Source, span: Span, change: Callable[[cst.BaseExpression], cst.BaseExpression | None]
) -> Iterator[Edit]:
    """Yield the edit that replaces the expression at a span by what ``change`` makes of it.

    Nothing is yielded when libcst does not take the expression, or ``change`` returns None.
    """
    try:
        # Brackets let an expression that spans lines be parsed alone.
        parsed = cst.parse_expression(f"({source.slice(span)})")
    except cst.ParserSyntaxError:
        return
    inner = parsed.with_changes(lpar=parsed.lpar[1:], rpar=parsed.rpar[:-1])
    changed = change(inner)
    if changed is not None:
        yield replace(source, span, code(changed))


def rename_local(
    source: Source, owner: ClassFacts, method: FunctionFacts, old: str, new: str
) -> Iterator[Edit]:
    """Yield the edits that rename a parameter of a method wherever the method uses it."""
    body = Body(split_lines(source.text), owner, method)
    labels = {id(node.attr) for node in body.of(cst.Attribute)}
    labels |= {id(node.keyword) for node in body.of(cst.Arg)}
    for node in body.of(cst.Name):
        if node.value == old and id(node) not in labels:
            yield replace(source, body.span(node), new)


def requote(source: Source, span: Span, text: str) -> Iterator[Edit]:
    """Yield the edit that changes a string literal's text and keeps its quotes."""

    def change(node: cst.BaseExpression) -> cst.BaseExpression | None:
        if not isinstance(node, cst.SimpleString) or set(text) & set("\\\n\"'{}"):
            return None
        return node.with_changes(value=f"{node.prefix}{node.quote}{text}{node.quote}")

    return rewrite(source, span, change)


def statement(source: Source, text: str, indent: str) -> str:
    """Return a one-line statement as libcst renders it, indented, with the file's line end."""
    line = cst.parse_module(text).code.rstrip("\n")
    return f"{indent}{line}{source.newline}"


def decorator(source: Source, line: int, text: str) -> Edit:
    """Return the edit that decorates the definition whose keyword stands on a line, innermost."""
    rendered = code(cst.Decorator(cst.parse_expression(text))).rstrip("\n")
    return _insert(source, line, f"{source.indent(line)}{rendered}{source.newline}")


def decorate(
    source: Source, facts: FileFacts, line: int, origin: str, arguments: str = ""
) -> Iterator[Edit]:
    """Yield the edits that decorate a definition with something of another module.

    The file's own name for it is used; without one, its module is imported.
    """
    name = next((local for local, named in facts.imports.items() if named == origin), "")
    if not name:
        yield from require_import(source, facts, origin.rpartition(".")[0])
        name = origin
    yield decorator(source, line, f"{name}{arguments}")


def insert_above(source: Source, line: int, text: str) -> Edit:
    """Return the edit that inserts a one-line statement above a line, indented like it."""
    return _insert(source, line, statement(source, text, source.indent(line)))


def append_statement(source: Source, method: FunctionFacts, text: str) -> Edit:
    """Return the edit that adds a one-line statement at the end of a method's indented body."""
    line = method.header[1] + 1
    while line < method.span[2] and source.line(line).strip()[:1] in ("", "#"):
        line += 1
    return _insert(source, method.span[2] + 1, statement(source, text, source.indent(line)))


def insert_member(source: Source, owner: ClassFacts, text: str) -> Iterator[Edit]:
    """Yield the edit that adds a one-line statement to a class body, below its docstring.

    Nothing is yielded for a class whose body stands on its header line.
    """
    line = owner.body
    if line > owner.header[1]:
        yield insert_above(source, _first_line(owner, line), text)
    elif not line and owner.docstring is not None and owner.span[2] > owner.header[1]:
        indent = source.indent(owner.header[1] + 1)
        yield _insert(source, owner.span[2] + 1, statement(source, text, indent))


def append_member(source: Source, owner: ClassFacts, lines: list[str]) -> Iterator[Edit]:
    """Yield the edit that adds lines at the end of a class body, below an empty one.

    Nothing is yielded for a class whose body stands on its header line.
    """
    if owner.span[2] > owner.header[1]:
        indent = source.indent(owner.body or owner.header[1] + 1)
        text = "".join(f"{indent}{line}{source.newline}" for line in lines)
        yield _insert(source, owner.span[2] + 1, source.newline + text)


def delete_lines(source: Source, first: int, last: int) -> Edit:
    """Return the edit that removes whole lines."""
    return Edit(source.path, Range(first, 1, last + 1, 1), "")


def require_import(source: Source, facts: FileFacts, module: str) -> Iterator[Edit]:
    """Yield the edit that imports a module by its own name, unless the file does so already."""
    if facts.imports.get(module) != module:
        line = _import_line(source)
        yield _insert(source, line, statement(source, f"import {module}", ""))


def _insert(source: Source, line: int, text: str) -> Edit:
    if line > len(source.starts) or (line == len(source.starts) and not source.line(line)):
        end = len(source.text)
        place = source.place(end)
        open_line = bool(source.text) and not source.text.endswith(("\n", "\r"))
        return Edit(
            source.path, Range(*place, *place), (source.newline if open_line else "") + text
        )
    return Edit(source.path, Range(line, 1, line, 1), text)


def _first_line(owner: ClassFacts, line: int) -> int:
    """Return the line the statement at a line starts on, its decorators included."""
    starts = (method.span[0] for method in owner.methods if method.header[0] <= line)
    return min([line, *(start for start in starts if start > owner.header[1])])


def _import_line(source: Source) -> int:
    """Return the line new imports go to: that of the first import that is not from the future."""
    module = cst.parse_module(source.text)
    wrapper = cst.metadata.MetadataWrapper(module, unsafe_skip_copy=True)
    positions = wrapper.resolve(cst.metadata.PositionProvider)
    line = 1
    for position, node in enumerate(module.body):
        match node:
            case cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString()), *_]) if (
                position == 0
            ):
                line = positions[node].end.line + 1
            case cst.SimpleStatementLine(
                body=[cst.ImportFrom(module=cst.Name(value="__future__")), *_]
            ):
                line = positions[node].end.line + 1
            case cst.SimpleStatementLine(body=[cst.Import() | cst.ImportFrom(), *_]):
                return int(positions[node].start.line)
    return line
