"""What a class's decorator and annotations make of its body: dataclasses, fields, their types."""

import ast
from collections.abc import Iterator

from tileops.lint.facts import Attribute, Value
from tileops.lint.facts._values import value_of
from tileops.lint.index import ClassNode, Module, Project

__all__ = [
    "DATACLASS",
    "annotation_of",
    "dataclass_decorator",
    "device_facts",
    "fields",
    "freezes",
    "is_class_variable",
    "origin_of",
    "own_fields",
    "states_default",
    "unquoted",
]

DATACLASS = "dataclasses.dataclass"
_FIELD = "dataclasses.field"


def dataclass_decorator(project: Project, node: ClassNode) -> Value | None:
    """Return the decorator that makes a class a dataclass."""
    for decorator in node.facts.decorators:
        callee = decorator.items[0] if decorator.kind == "call" else decorator
        if project.imported(node.module, callee) == DATACLASS:
            return decorator
    return None


def freezes(project: Project, node: ClassNode) -> bool | None:
    """Say whether a class is a frozen dataclass; None when a decorator hides it."""
    decorator = dataclass_decorator(project, node)
    if decorator is None:
        return None if node.facts.decorators else False
    frozen = decorator.keyword("frozen") if decorator.kind == "call" else None
    if frozen is None:
        spread = decorator.kind == "call" and "**" in decorator.names
        return None if spread else False
    return bool(frozen.data) if frozen.kind == "bool" else None


def annotation_of(attribute: Attribute) -> Value | None:
    """Return an attribute's annotation, that in a string as if it stood without quotes."""
    return None if attribute.annotation is None else unquoted(attribute.annotation)


def unquoted(annotation: Value) -> Value:
    """Return an annotation without the quotes around it; its span then says nothing."""
    text = annotation.text
    if text is None:
        return annotation
    try:
        return value_of(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError):
        return Value("unknown", annotation.span, "Constant")


def origin_of(project: Project, module: Module, annotation: Value) -> str:
    """Return the full name of what an annotation names, without its arguments, or ""."""
    named = annotation.items[0] if annotation.kind == "subscript" else annotation
    return project.imported(module, named)


def is_class_variable(project: Project, module: Module, attribute: Attribute) -> bool:
    """Say whether an attribute is annotated as one of the class."""
    annotation = annotation_of(attribute)
    if annotation is None:
        return False
    origin = origin_of(project, module, annotation)
    return origin in ("typing.ClassVar", "typing_extensions.ClassVar")


def own_fields(project: Project, node: ClassNode) -> Iterator[Attribute]:
    """Yield the annotated attributes of a class body that are fields of its instances."""
    for attribute in node.facts.attributes:
        annotation = annotation_of(attribute)
        if annotation is None or is_class_variable(project, node.module, attribute):
            continue
        if origin_of(project, node.module, annotation) != "dataclasses.KW_ONLY":
            yield attribute


def fields(project: Project, node: ClassNode) -> dict[str, Attribute]:
    """Return the fields of a dataclass in the order of its constructor's parameters."""
    found: dict[str, Attribute] = {}
    for base in reversed(node.mro):
        found.update((attribute.name, attribute) for attribute in own_fields(project, base))
    return found


def device_facts(project: Project) -> tuple[str, ...]:
    """Return the fields every call spec has: ``device`` and the facts derived from it."""
    root = project.roots["call_spec"]
    return () if root is None else tuple(a.name for a in own_fields(project, root))


def states_default(project: Project, module: Module, attribute: Attribute) -> bool:
    """Say whether a field has a default, or takes no part in the positional parameters."""
    value = attribute.value
    if value is None:
        return False
    if value.kind != "call" or project.imported(module, value.items[0]) != _FIELD:
        return True
    # A spread argument may state anything.
    return not {"default", "default_factory", "init", "kw_only", "**"}.isdisjoint(value.names)
