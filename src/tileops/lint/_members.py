"""Members of a class: what it would inherit if it stated nothing, and taking a statement out."""

from collections.abc import Iterator

from tileops.findings import Edit
from tileops.lint._source import Source
from tileops.lint.facts import Attribute, ClassFacts, Span
from tileops.lint.index import ClassNode, Located, Lookup, Project

__all__ = ["delete_attribute", "delete_statement", "inherited", "inherited_value"]


def inherited(node: ClassNode, name: str) -> Lookup:
    """Return where a class would find a name if its own body did not bind it."""
    for position, above in enumerate(node.mro[1:], 1):
        if position >= node.certain:
            return Lookup(known=False)
        definition = above.defines(name)
        if definition is not None:
            return Lookup(True, above, definition)
    return Lookup(known=node.complete)


def inherited_value(project: Project, node: ClassNode, name: str) -> Located | None:
    """Return the evaluated value a class would inherit, None when that cannot be read."""
    found = inherited(node, name)
    if found.owner is None or found.attribute is None or found.attribute.value is None:
        return None
    return project.evaluate(found.owner.module, found.attribute.value)


def delete_attribute(source: Source, owner: ClassFacts, attribute: Attribute) -> Iterator[Edit]:
    """Yield the edit that takes an attribute out of a class body; see `delete_statement`."""
    return delete_statement(source, owner, attribute.span)


def delete_statement(source: Source, owner: ClassFacts, span: Span) -> Iterator[Edit]:
    """Yield the edit that takes a statement out of a class body.

    The only statement of a body becomes ``pass``. Nothing is yielded for a statement that shares
    its lines with another.
    """
    from tileops.lint._edits import delete_lines, replace

    where = source.range(span)
    before = source.line(where.line)[: where.column - 1]
    after = source.line(where.end_line)[where.end_column - 1 :].strip()
    if before.strip() or (after and not after.startswith("#")):
        return
    members = len(owner.attributes) + len(owner.methods) + (owner.docstring is not None)
    if members > 1:
        yield delete_lines(source, where.line, where.end_line)
    else:
        yield replace(source, span, "pass")
