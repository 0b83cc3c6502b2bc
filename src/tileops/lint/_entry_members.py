"""What an op may ask of a kernel: the members its interface and `Kernel` declare."""

from tileops.lint._asked import interface_named
from tileops.lint.facts import FunctionFacts, Note, Value
from tileops.lint.index import ClassNode, Project

__all__ = ["handles_kernels", "interfaces_asked", "is_declared"]

_EVERY_OBJECT = frozenset(dir(object)) | {"__call__", "__dict__", "__module__", "__name__"}


def handles_kernels(method: FunctionFacts) -> bool:
    """Say whether a method may hold kernels: it is given them, or asks for one."""
    asks = any(call.rpartition(".")[2] == "kernel_for" for call in method.calls)
    return asks or method.name == "bind"


def interfaces_asked(project: Project, owner: ClassNode, note: Note) -> list[ClassNode]:
    """Return the interfaces a noted kernel may be of; none when that is not certain.

    A kernel that ``bind`` was given may be of every interface of the op.
    """
    table = project.table(owner)
    if table is None or table.interfaces is None or not table.known:
        return []
    key = note.data["key"]
    if key:
        stated = Value("str" if note.data["literal"] else "name", note.span, key)
        found = interface_named(project, owner, owner.module, stated)
        return [] if found is None else [found]
    targets = [entry.target for entry in table.interfaces.entries]
    certain = [target for target in targets if target is not None]
    return certain if table.interfaces.complete and len(certain) == len(targets) else []


def is_declared(project: Project, interface: ClassNode, name: str) -> bool:
    """Say whether an interface or ``Kernel`` has a member, or might have it."""
    kernel = project.roots["kernel"]
    if name == "forward" or name in _EVERY_OBJECT or kernel is None:
        return True
    for node in (interface, kernel):
        found = node.lookup(name)
        if found.owner is not None or not found.known:
            return True
    return False
