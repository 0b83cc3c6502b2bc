"""The facts of one class statement."""

import ast
from collections.abc import Callable, Iterator

from tileops.lint.facts._functions import (
    Function,
    docstring_of,
    header_of,
    name_span_of,
)
from tileops.lint.facts._records import Attribute, ClassFacts, FunctionFacts
from tileops.lint.facts._values import span_of, value_of

__all__ = ["class_facts"]


def class_facts(
    node: ast.ClassDef,
    scope: str,
    method: Callable[[Function], FunctionFacts],
    lines: list[bytes],
) -> ClassFacts:
    """Return the facts of a class; ``method`` gives those of each function in its body."""
    docstring = docstring_of(node)
    rest = node.body[1:] if docstring is not None else node.body
    statements = list(_flat(node.body))
    header = header_of(node, lines)
    return ClassFacts(
        name=node.name,
        span=(header[0], *span_of(node)[1:]),
        name_span=name_span_of(node, lines),
        header=header,
        scope=scope,
        bases=tuple(value_of(base) for base in node.bases),
        keywords=tuple(keyword.arg or "**" for keyword in node.keywords),
        decorators=tuple(value_of(decorator) for decorator in node.decorator_list),
        docstring=docstring,
        attributes=tuple(a for statement in statements for a in _attributes(statement)),
        methods=tuple(
            method(statement) for statement in statements if isinstance(statement, Function)
        ),
        body=rest[0].lineno if rest else 0,
    )


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a class body, those under ``if`` and ``try`` included."""
    for statement in body:
        match statement:
            case ast.If():
                yield from _flat([*statement.body, *statement.orelse])
            case ast.Try():
                handlers = [inner for handler in statement.handlers for inner in handler.body]
                yield from _flat([*statement.body, *handlers, *statement.orelse])
                yield from _flat(statement.finalbody)
            case ast.With():
                yield from _flat(statement.body)
            case _:
                yield statement


def _attributes(statement: ast.stmt) -> Iterator[Attribute]:
    match statement:
        case ast.Assign(value=value):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    span = span_of(statement)
                    yield Attribute(target.id, span, span_of(target), None, value_of(value))
        case ast.AnnAssign(target=ast.Name(id=name) as target, annotation=annotation, value=value):
            stated = None if value is None else value_of(value)
            span = span_of(statement)
            yield Attribute(name, span, span_of(target), value_of(annotation), stated)
