"""Where a ``refusal`` gives a reason because another class serves the call.

Imported only where a slice was parsed.
"""

from collections.abc import Iterator, Sequence

import libcst as cst

from tileops.lint._syntax import bindings, dotted, is_none, own

__all__ = ["exclusions"]

Atom = tuple[cst.BaseExpression, str, bool]
"""An expression, the class it asks, and whether that class serves where the expression is true."""


def exclusions(function: cst.FunctionDef) -> list[tuple[cst.BaseExpression, str]]:
    """Return the questions whose good answer leads to a reason, each with the class asked."""
    calls = [node for node in own(function) if isinstance(node, cst.Call)]
    if not any(_asked(node) for node in calls):
        return []
    once = {name: values[0] for name, values in bindings(function).items() if len(values) == 1}
    found: list[tuple[cst.BaseExpression, str]] = []
    for test, refuses in _decisions(function):
        for node, name, serves in _atoms(test, once):
            if serves is refuses:
                found.append((node, name))
    return found


def _decisions(function: cst.FunctionDef) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """Yield each test that decides on a reason, and whether the reason follows where it holds."""
    for node in own(function):
        match node:
            case cst.IfExp(test=test, body=then, orelse=otherwise):
                if _is_reason(then) != _is_reason(otherwise):
                    yield test, _is_reason(then)
            case cst.BooleanOperation(left=test, operator=cst.And(), right=right):
                if _is_reason(right):
                    yield test, True
            case cst.IndentedBlock(body=body):
                yield from _branches(body)


def _branches(body: Sequence[cst.CSTNode]) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """Yield the decisions of the ``if`` statements of one block."""
    for position, node in enumerate(body):
        if not isinstance(node, cst.If):
            continue
        then = _returned(node.body.body)
        otherwise = _returned(body[position + 1 :])
        if isinstance(node.orelse, cst.Else):
            otherwise = _returned(node.orelse.body.body)
        elif node.orelse is not None:
            otherwise = None
        then_refuses = then is not None and _is_reason(then.value)
        if then_refuses:
            yield node.test, True
        elif then is not None and otherwise is not None and _is_reason(otherwise.value):
            yield node.test, False


def _returned(body: Sequence[cst.CSTNode]) -> cst.Return | None:
    """Return the ``return`` a block starts with."""
    first = body[0] if body else None
    if isinstance(first, cst.SimpleStatementLine):
        first = first.body[0]
    return first if isinstance(first, cst.Return) else None


def _is_reason(node: cst.BaseExpression | None) -> bool:
    return isinstance(node, cst.SimpleString | cst.FormattedString | cst.ConcatenatedString)


def _atoms(
    test: cst.BaseExpression, once: dict[str, cst.BaseExpression | None], *, holds: bool = True
) -> Iterator[Atom]:
    """Yield the questions a test is made of, with what they say where the test is ``holds``."""
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            yield from _atoms(inner, once, holds=not holds)
        case cst.BooleanOperation(left=left, right=right):
            yield from _atoms(left, once, holds=holds)
            yield from _atoms(right, once, holds=holds)
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget() as target]):
            name, method = _question(left, once)
            if method == "refusal" and is_none(target.comparator):
                same = isinstance(target.operator, cst.Is | cst.Equal)
                yield test, name, same is holds
        case _:
            name, method = _question(test, once)
            if name:
                yield test, name, (method == "serves") is holds


def _question(
    node: cst.BaseExpression, once: dict[str, cst.BaseExpression | None]
) -> tuple[str, str]:
    """Return the class an expression asks and how, following a local that is bound once."""
    if isinstance(node, cst.Name):
        bound = once.get(node.value)
        return ("", "") if bound is None else _asked(bound)
    return _asked(node.value if isinstance(node, cst.NamedExpr) else node)


def _asked(node: cst.BaseExpression) -> tuple[str, str]:
    match node:
        case cst.Call(
            func=cst.Attribute(value=owner, attr=cst.Name(value=("refusal" | "serves") as method))
        ):
            name = dotted(owner)
            return (name, method) if name not in ("", "cls", "self") else ("", "")
    return "", ""
