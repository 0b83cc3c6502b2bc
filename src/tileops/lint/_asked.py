"""What a request for a kernel or a key names: the interface, and the class of the call spec."""

from tileops.lint.facts import Value
from tileops.lint.index import ClassNode, Kind, Module, Project, Requested

__all__ = ["interface_named", "interface_of", "spec_of"]


def interface_of(project: Project, asked: Requested) -> ClassNode | None:
    """Return the interface a request asks its op for, None when unknown."""
    if asked.op is None or asked.key is None:
        return None
    return interface_named(project, asked.op, asked.module, asked.key)


def interface_named(
    project: Project, op: ClassNode, module: Module, key: Value
) -> ClassNode | None:
    """Return the interface an op has under a key, None when unknown."""
    table = project.table(op)
    text = project.evaluate(module, key).value.text
    if table is None or table.interfaces is None or text is None:
        return None
    return next((e.target for e in table.interfaces.entries if e.key == text), None)


def spec_of(project: Project, asked: Requested) -> ClassNode | None:
    """Return the class of the call spec a request is made with, None when unknown."""
    if asked.made is None or asked.made.kind != "call":
        return None
    node = project.resolve_class(asked.module, asked.made.items[0])
    specs = (Kind.CALL_SPEC, Kind.ROOT)
    return node if node is not None and node.kind in specs else None
