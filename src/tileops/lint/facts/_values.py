"""From an `ast` expression to the `Value` that states it."""

import ast

from tileops.lint.facts._records import Span, Value

__all__ = ["dotted", "span_of", "value_of"]

_COMPREHENSIONS = {
    ast.ListComp: "list",
    ast.SetComp: "set",
    ast.DictComp: "dict",
    ast.GeneratorExp: "generator",
}
_DISPLAYS = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}
_LONGEST_INT = 2**63


def span_of(node: ast.expr | ast.stmt | ast.arg) -> Span:
    """Return where a node stands."""
    end_line, end_column = node.end_lineno, node.end_col_offset
    assert end_line is not None
    assert end_column is not None
    return (node.lineno, node.col_offset, end_line, end_column)


def dotted(node: ast.expr) -> str:
    """Return the dotted name an expression is, or ""."""
    if isinstance(node, ast.Name):
        return node.id
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def value_of(node: ast.expr) -> Value:
    """Return the value an expression states; what it cannot state has kind "unknown"."""
    try:
        return _value_of(node)
    except RecursionError:
        # Generated code has sums of thousands of terms; none of them states a fact.
        return Value("unknown", span_of(node), type(node).__name__)


def _value_of(node: ast.expr) -> Value:  # noqa: PLR0911
    span = span_of(node)
    if isinstance(node, ast.Constant):
        return _constant(node, span)
    name = dotted(node)
    if name:
        return Value("name", span, name)
    if isinstance(node, ast.Attribute):
        return Value("attribute", span, node.attr, (_value_of(node.value),))
    display = _DISPLAYS.get(type(node))
    if display is not None:
        items: list[ast.expr] = node.elts  # type: ignore[attr-defined]
        return Value(display, span, None, tuple(_value_of(item) for item in items))
    if isinstance(node, ast.Dict):
        return Value("dict", span, None, tuple(_dict_items(node)))
    if isinstance(node, ast.Call):
        return _call(node, span)
    return _rest(node, span)


def _rest(node: ast.expr, span: Span) -> Value:  # noqa: PLR0911
    if isinstance(node, ast.Starred):
        return Value("starred", span, None, (_value_of(node.value),))
    if isinstance(node, ast.Subscript):
        return Value("subscript", span, None, (_value_of(node.value), _value_of(node.slice)))
    if isinstance(node, ast.BinOp):
        sides = (_value_of(node.left), _value_of(node.right))
        return Value("binary", span, type(node.op).__name__, sides)
    if isinstance(node, ast.Lambda):
        return Value("lambda", span, None, (_value_of(node.body),))
    comprehension = _COMPREHENSIONS.get(type(node))
    if comprehension is not None:
        return Value("comprehension", span, comprehension)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _value_of(node.operand)
        if inner.kind in ("int", "float") and isinstance(inner.data, int | float):
            return Value(inner.kind, span, -inner.data)
    return Value("unknown", span, type(node).__name__)


def _constant(node: ast.Constant, span: Span) -> Value:  # noqa: PLR0911
    data = node.value
    match data:
        case None:
            return Value("none", span)
        case bool():
            return Value("bool", span, data)
        case int() if -_LONGEST_INT < data < _LONGEST_INT:
            return Value("int", span, data)
        case float():
            return Value("float", span, data)
        case str() if data.isprintable() or data.isascii():
            return Value("str", span, data)
        case _ if data is ...:
            return Value("ellipsis", span)
        case _:
            return Value("unknown", span, "Constant")


def _dict_items(node: ast.Dict) -> list[Value]:
    items: list[Value] = []
    for key, value in zip(node.keys, node.values, strict=True):
        stated = _value_of(value)
        items += [Value("spread", stated.span) if key is None else _value_of(key), stated]
    return items


def _call(node: ast.Call, span: Span) -> Value:
    items = [_value_of(node.func), *(_value_of(argument) for argument in node.args)]
    items += [_value_of(keyword.value) for keyword in node.keywords]
    names = tuple(keyword.arg or "**" for keyword in node.keywords)
    return Value("call", span, None, tuple(items), names)
