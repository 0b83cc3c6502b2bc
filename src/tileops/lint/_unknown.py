"""What could not be resolved, and so keeps rules silent."""

from collections.abc import Iterator

from tileops.lint.facts import Span
from tileops.lint.index import Foreign, Located, Project

__all__ = ["unknown"]


def unknown(project: Project) -> Iterator[tuple[str, Span, str]]:
    """Yield path, span and a sentence for everything unknown that could hide a contract class."""
    for node in project.classes:
        for value in node.facts.bases:
            base = value.items[0] if value.kind == "subscript" else value
            if project.resolve_class(node.module, base) is not None:
                continue
            target = project.resolve(node.module, base)
            if isinstance(target, Foreign) and target.transparent:
                continue
            what = target.name if isinstance(target, Foreign) else base.name or "an expression"
            message = f"{node.name} derives from {what}, of which nothing is known"
            yield node.module.path, value.span, message
    for table in project.tables:
        if table.op.module.external:
            continue
        for mapping in (table.kernel_types, table.interfaces):
            if mapping is None or mapping.complete or mapping.owner is not table.op:
                continue
            unread = [e.stated for e in mapping.entries if e.key is None or e.target is None]
            for where in unread or [mapping.stated]:
                yield _place(where, f"{table.op.name} states something here that cannot be read")


def _place(where: Located, message: str) -> tuple[str, Span, str]:
    return where.module.path, where.value.span, message
