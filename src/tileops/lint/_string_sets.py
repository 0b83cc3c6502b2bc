"""How a class attribute that should be a frozenset of strings is written, and writing it right."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tileops.findings import Edit
from tileops.lint._source import Source
from tileops.lint.facts import Value
from tileops.lint.index import Located, Module, Project

if TYPE_CHECKING:
    import libcst as cst

__all__ = ["Form", "StringSet", "rewritten", "string_set"]

_LITERAL = ("none", "bool", "int", "float", "dict", "ellipsis")
_DISPLAYS = ("list", "tuple", "set")


class Form(Enum):
    """What the value is; each value but the first completes ``is ...`` in a message."""

    FROZENSET = "a frozenset of strings"
    SET = "a set, which every class shares and any can change"
    LIST = "a list"
    TUPLE = "a tuple"
    TEXT = "a string"
    LETTERS = "the set of a string's letters"
    MIXED = "a collection that holds more than strings"
    OTHER = "no collection"


@dataclass(frozen=True, slots=True)
class StringSet:
    """A value as stated and evaluated, its form, and the strings that are meant where known."""

    stated: Located
    value: Located
    form: Form
    strings: tuple[str, ...] | None

    @property
    def meant(self) -> str:
        """The value as it should be written, "" where the strings are not known."""
        if self.strings is None:
            return ""
        quoted = ", ".join(f'"{text}"' for text in self.strings)
        return f"frozenset({{{quoted}}})" if quoted else "frozenset()"


def string_set(project: Project, module: Module, value: Value) -> StringSet | None:
    """Read a value; None when it cannot be told what it is."""
    stated = Located(module, value)
    where = project.evaluate(module, value)
    found = where.value
    if found.kind == "str":
        return StringSet(stated, where, Form.TEXT, (str(found.data),))
    if found.kind in _LITERAL:
        return StringSet(stated, where, Form.OTHER, None)
    if found.kind in _DISPLAYS:
        form = {"list": Form.LIST, "tuple": Form.TUPLE, "set": Form.SET}[found.kind]
        return _collected(project, stated, where, where, form)
    return _called(project, stated, where)


def _called(project: Project, stated: Located, where: Located) -> StringSet | None:
    """Read a call of ``frozenset`` or ``set``."""
    found = where.value
    if found.callee not in ("frozenset", "set") or found.names:
        return None
    form = Form.FROZENSET if found.callee == "frozenset" else Form.SET
    if not found.arguments:
        return StringSet(stated, where, form, ())
    inner = project.evaluate(where.module, found.arguments[0])
    if inner.value.kind == "str":
        return StringSet(stated, where, Form.LETTERS, (str(inner.value.data),))
    if inner.value.kind in _DISPLAYS:
        return _collected(project, stated, where, inner, form)
    return None


def _collected(
    project: Project, stated: Located, where: Located, display: Located, form: Form
) -> StringSet:
    items = [project.evaluate(display.module, item).value for item in display.value.items]
    if any(item.kind in _LITERAL for item in items):
        return StringSet(stated, where, Form.MIXED, None)
    texts = [item.text for item in items]
    known = [text for text in texts if text is not None]
    strings = tuple(dict.fromkeys(known)) if len(known) == len(texts) else None
    return StringSet(stated, where, form, strings)


def rewritten(source: Source, found: StringSet) -> Iterator[Edit]:
    """Yield the edit that writes the value as a frozenset, unless a constant states it."""
    from tileops.lint._edits import rewrite

    if found.stated.value is not found.value.value:
        return iter(())
    return rewrite(source, found.stated.value.span, _change(found.form))


def _change(
    form: Form,
) -> "Callable[[cst.BaseExpression], cst.BaseExpression | None]":
    import libcst as cst

    def frozen(*inner: cst.BaseExpression) -> cst.BaseExpression:
        return cst.Call(cst.Name("frozenset"), [cst.Arg(value) for value in inner])

    def change(node: cst.BaseExpression) -> cst.BaseExpression | None:
        found: cst.BaseExpression | None = None
        match form, node:
            case Form.TEXT, _:
                found = frozen(cst.Set([cst.Element(node)]))
            case Form.LETTERS, cst.Call(args=[cst.Arg(value=text)]):
                found = frozen(cst.Set([cst.Element(text)]))
            case Form.SET, cst.Set():
                found = frozen(node)
            case Form.SET, cst.Call():
                found = node.with_changes(func=cst.Name("frozenset"))
            case Form.LIST | Form.TUPLE, cst.List() | cst.Tuple() if not node.elements:
                found = frozen()
            case Form.LIST, cst.List(lbracket=left, rbracket=right):
                inner = cst.Set(
                    node.elements,
                    lbrace=cst.LeftCurlyBrace(left.whitespace_after),
                    rbrace=cst.RightCurlyBrace(right.whitespace_before),
                )
                found = frozen(inner)
            case Form.TUPLE, cst.Tuple():
                found = frozen(cst.Set(node.elements))
        return found

    return change
