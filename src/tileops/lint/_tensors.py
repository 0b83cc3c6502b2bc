"""Which annotations say that a parameter is a tensor."""

from tileops.lint._dataclasses import unquoted
from tileops.lint.facts import Value
from tileops.lint.index import Module, Project

__all__ = ["is_tensor"]

_WRAPPERS = frozenset({"typing.Optional", "typing.Union", "typing.Annotated"})


def is_tensor(project: Project, module: Module, annotation: Value | None) -> bool:
    """Say whether an annotation is a tensor's, or that of a tensor or None."""
    if annotation is None:
        return False
    value = unquoted(annotation)
    if value.kind == "binary" and value.data == "BitOr":
        return any(is_tensor(project, module, side) for side in value.items)
    if value.kind == "subscript":
        if project.imported(module, value.items[0]) not in _WRAPPERS:
            return False
        index = value.items[1]
        inner = index.items if index.kind == "tuple" else (index,)
        return any(is_tensor(project, module, part) for part in inner)
    return project.imported(module, value) == "torch.Tensor"
