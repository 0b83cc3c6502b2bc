"""Reading libcst nodes: dotted names, what a function binds and returns, walks without whitespace.

Imported only where a slice was parsed, since loading libcst takes longer than a warm run.
"""

from functools import cache, lru_cache

import libcst as cst

__all__ = ["bindings", "code", "dotted", "is_none", "own", "parameter", "returns", "walk"]

_LAYOUT = ("whitespace", "leading_lines", "lines_after")
_TOKENS = frozenset(
    {
        "asynchronous",
        "colon",
        "comma",
        "dot",
        "equal",
        "footer",
        "header",
        "indent",
        "lbrace",
        "lbracket",
        "lpar",
        "rbrace",
        "rbracket",
        "rpar",
        "semicolon",
        "trailing_whitespace",
    }
)


@cache
def _fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    names = kind.__dataclass_fields__
    return tuple(n for n in names if n not in _TOKENS and not n.startswith((*_LAYOUT, "__")))


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """Return the nodes directly below one in source order, without whitespace and brackets."""
    found: list[cst.CSTNode] = []
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            found.append(value)
        elif isinstance(value, list | tuple):
            found.extend(item for item in value if isinstance(item, cst.CSTNode))
    return found


def walk(node: cst.CSTNode) -> list[cst.CSTNode]:
    """Return a node and everything below it, in pre-order."""
    found: list[cst.CSTNode] = []
    stack = [node]
    while stack:
        current = stack.pop()
        found.append(current)
        stack.extend(reversed(children(current)))
    return found


@lru_cache(maxsize=4)
def own(function: cst.FunctionDef | cst.Lambda) -> tuple[cst.CSTNode, ...]:
    """Return the nodes a call of the function evaluates itself, without nested functions' bodies.

    They stand in pre-order. The last few answers are kept, since every rule asks about the same
    function.
    """
    found: list[cst.CSTNode] = []
    stack: list[cst.CSTNode] = [function.body]
    while stack:
        current = stack.pop()
        found.append(current)
        if isinstance(current, cst.FunctionDef | cst.ClassDef):
            stack.extend(reversed(current.decorators))
        elif not isinstance(current, cst.Lambda):
            stack.extend(reversed(children(current)))
    return tuple(found)


def dotted(node: cst.CSTNode | None) -> str:
    """Return the dotted name an expression is, or ""."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        root = dotted(node.value)
        return root and f"{root}.{node.attr.value}"
    return ""


def code(node: cst.CSTNode) -> str:
    """Return the source of a node."""
    return cst.Module([]).code_for_node(node)


def is_none(node: cst.CSTNode | None) -> bool:
    """Say whether an expression is the name ``None``, or a ``return`` states nothing."""
    return node is None or (isinstance(node, cst.Name) and node.value == "None")


def parameter(function: cst.FunctionDef, position: int) -> str:
    """Return the name of a positional parameter, "" when there is none at that position."""
    parameters = [*function.params.posonly_params, *function.params.params]
    return parameters[position].name.value if position < len(parameters) else ""


def returns(function: cst.FunctionDef) -> list[cst.Return]:
    """Return the ``return`` statements of a function, without those of nested functions."""
    return [node for node in own(function) if isinstance(node, cst.Return)]


@lru_cache(maxsize=4)
def bindings(function: cst.FunctionDef) -> dict[str, list[cst.BaseExpression | None]]:
    """Return what each local is bound to, in source order.

    A binding that is no plain ``name = value`` (a loop variable, an unpacking, ``+=``, ``with ...
    as``) stands as None, so ``len`` counts bindings and a single expression means the local is
    that value.
    """
    found: dict[str, list[cst.BaseExpression | None]] = {}
    for node in own(function):
        match node:
            case cst.Assign(targets=targets, value=value):
                for target in targets:
                    _bind(found, target.target, value if len(targets) == 1 else None)
            case cst.AnnAssign(target=target, value=cst.BaseExpression() as value):
                _bind(found, target, value)
            case cst.NamedExpr(target=target, value=value):
                _bind(found, target, value)
            case cst.AugAssign(target=target) | cst.For(target=target) | cst.CompFor(target=target):
                _bind(found, target, None)
            case cst.AsName(name=target) if isinstance(target, cst.BaseExpression):
                _bind(found, target, None)
            case cst.FunctionDef(name=name) | cst.ClassDef(name=name):
                found.setdefault(name.value, []).append(None)
    return found


def _bind(
    found: dict[str, list[cst.BaseExpression | None]],
    target: cst.BaseExpression,
    value: cst.BaseExpression | None,
) -> None:
    if isinstance(target, cst.Name):
        found.setdefault(target.value, []).append(value)
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            _bind(found, element.value, None)
    elif isinstance(target, cst.StarredElement):
        _bind(found, target.value, None)
