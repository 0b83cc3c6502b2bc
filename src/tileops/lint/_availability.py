"""Where an implementation can run, as far as its class says so in literals."""

from tileops.lint._string_sets import Form, string_set
from tileops.lint.facts import Attribute
from tileops.lint.index import ClassNode, Located, Project

__all__ = ["device_types", "devices", "display_of", "meet", "supported_archs"]

_DISPLAYS = ("list", "tuple", "set")
_COLLECTIONS = ("frozenset", "list", "set", "tuple")


def device_types(project: Project, node: ClassNode) -> tuple[str, ...] | None:
    """Return the device types a class names, inherited ones included; None when unknown."""
    found = node.lookup("devices")
    if found.owner is None or found.attribute is None or found.attribute.value is None:
        return None
    stated = string_set(project, found.owner.module, found.attribute.value)
    if stated is None or stated.form not in (Form.FROZENSET, Form.SET):
        return None
    return stated.strings


def devices(node: ClassNode) -> tuple[ClassNode, Attribute] | None:
    """Return the class and the attribute that state where a class runs, None when unknown."""
    found = node.lookup("devices")
    if found.owner is None or found.attribute is None:
        return None
    return found.owner, found.attribute


def supported_archs(project: Project, node: ClassNode) -> tuple[bool, tuple[int, ...] | None]:
    """Return whether a class's architectures are known, and what they are; None means all."""
    stated = project.constant(node, "supported_archs")
    if stated is None:
        return False, None
    if stated.value.kind == "none":
        return True, None
    display = display_of(project, stated)
    if display is None:
        return False, None
    items = [project.evaluate(display.module, item).value for item in display.value.items]
    if any(item.kind != "int" for item in items):
        return False, None
    return True, tuple(int(item.data or 0) for item in items)


def display_of(project: Project, stated: Located) -> Located | None:
    """Return the display a collection is made of, through a call such as ``frozenset``."""
    value = stated.value
    if value.callee in _COLLECTIONS and not value.names and len(value.arguments) == 1:
        stated = project.evaluate(stated.module, value.arguments[0])
    return stated if stated.value.kind in _DISPLAYS else None


def meet(project: Project, one: ClassNode, other: ClassNode) -> bool:
    """Say whether two classes certainly run on a device in common."""
    types = [device_types(project, node) for node in (one, other)]
    archs = [supported_archs(project, node) for node in (one, other)]
    if None in types or not all(known for known, _ in archs):
        return False
    if not set(types[0] or ()) & set(types[1] or ()):
        return False
    mine, its = archs[0][1], archs[1][1]
    return mine is None or its is None or bool(set(mine) & set(its))
