"""Copies of functions in which the constructs that proxies cannot see become calls of hooks.

Proxies overload operators; Python overloads neither ``in`` over hashed containers, ``is``,
formatted texts, calls into C, nor the attributes of classes. A copy asks a hook for each of these.
Nothing of the user is touched: a copy is compiled from the source with its line numbers, runs in
the globals of its original, shares the cells of its closure, and finds the hooks in cells of its
own.
"""

from __future__ import annotations
import __future__

import ast
import copy
import linecache
from collections.abc import Iterator
from functools import cache
from types import CodeType
from typing import Final

__all__ = ["HOOKS", "NotRewritableError", "rewritten"]

HOOKS: Final = {
    name: f"__tileops_{name}__" for name in ("call", "get", "contains", "same", "text", "modulo")
}

_FUTURES = 0
for _feature in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _feature).compiler_flag


class NotRewritableError(Exception):
    """A function has no source, or does what a copy must not do."""


@cache
def rewritten(code: CodeType) -> CodeType:
    """Return the code of the copy; the hooks are free variables of it.

    Raises:
        NotRewritableError: There is no copy; the text says why.
    """
    node, owner = _definition(code)
    _check(node, code)
    node = _Hooking().visit(copy.deepcopy(node))
    module = ast.fix_missing_locations(_enclosed(node, owner, code.co_freevars))
    flags = code.co_flags & _FUTURES
    try:
        compiled = compile(module, code.co_filename, "exec", flags=flags, dont_inherit=True)
    except SyntaxError as error:
        raise NotRewritableError(f"cannot copy {code.co_qualname}: {error}") from error
    found = next((one for one in _nested(compiled) if _is_copy(one, code)), None)
    if found is None:
        raise NotRewritableError(f"cannot copy {code.co_qualname}")
    return found


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def _definition(code: CodeType) -> tuple[Definition, str | None]:
    """Find the definition that *code* was compiled from, and the class around it."""
    text = "".join(linecache.getlines(code.co_filename))
    found = _definitions(text).get((code.co_firstlineno, code.co_name), ())
    if code.co_name == "<lambda>" and len(found) > 1:
        column = min(start for _, _, start, _ in code.co_positions() if start is not None)
        found = tuple(one for one in found if _spans(one[0], column))
    if len(found) != 1:
        raise NotRewritableError(f"the source of {code.co_qualname} is not to be had")
    return found[0]


def _spans(node: Definition, column: int) -> bool:
    return node.col_offset <= column < (node.end_col_offset or 0)


@cache
def _definitions(text: str) -> dict[tuple[int, str], tuple[tuple[Definition, str | None], ...]]:
    """Index the functions of a file by the line they begin on and their name."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return {}
    found: dict[tuple[int, str], tuple[tuple[Definition, str | None], ...]] = {}
    pending: list[tuple[ast.AST, str | None]] = [(tree, None)]
    while pending:
        node, owner = pending.pop()
        if isinstance(node, Definition):
            name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
            decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
            line = min([node.lineno, *(one.lineno for one in decorators)])
            found[line, name] = (*found.get((line, name), ()), (node, owner))
        if isinstance(node, ast.ClassDef):
            owner = node.name
        pending += [(child, owner) for child in ast.iter_child_nodes(node)]
    return found


def _check(node: Definition, code: CodeType) -> None:
    if isinstance(node, ast.AsyncFunctionDef):
        raise NotRewritableError(f"{code.co_qualname} is a coroutine")
    for inner in ast.walk(node):
        if isinstance(inner, ast.Global):
            raise NotRewritableError(f"{code.co_qualname} declares {', '.join(inner.names)} global")
        if isinstance(inner, ast.Nonlocal) and set(inner.names) & set(code.co_freevars):
            raise NotRewritableError(f"{code.co_qualname} rebinds {', '.join(inner.names)}")


def _enclosed(node: Definition, owner: str | None, free: tuple[str, ...]) -> ast.Module:
    """Define the copy where its free names are variables of a function, and in its class.

    The class makes the compiler mangle private names as it did in the original; one whose name
    is all underscores mangles none. It also keeps the copy's own name out of its reach, so that a
    recursive function finds what its original finds.
    """
    inner: ast.stmt
    inner = node if isinstance(node, ast.FunctionDef) else ast.Expr(node)  # type: ignore[arg-type]
    if isinstance(node, ast.FunctionDef):
        node.decorator_list = []
    inner = ast.ClassDef(owner or "_", [], [], [inner], [])
    names = [ast.arg(name) for name in (*HOOKS.values(), *free)]
    outer = ast.FunctionDef(
        "__tileops_outer__", ast.arguments([], names, None, [], [], None, []), [inner], [], None
    )
    return ast.Module([outer], [])


def _nested(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _nested(constant)


def _is_copy(one: CodeType, original: CodeType) -> bool:
    # A decorator line begins the original, the def line begins the copy.
    return one.co_name == original.co_name and one.co_firstlineno >= original.co_firstlineno


class _Hooking(ast.NodeTransformer):
    """Replaces what proxies cannot see by calls of hooks, keeping positions."""

    def _hook(self, name: str, at: ast.expr, args: list[ast.expr]) -> ast.Call:
        called = ast.Call(ast.Name(HOOKS[name], ast.Load()), args, [])
        return ast.copy_location(called, at)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Let a hook call it, except ``super()``, which finds its class by being called here."""
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return node
        self.generic_visit(node)
        called = self._hook("call", node, [node.func, *node.args])
        called.keywords = node.keywords
        return called

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Let a hook read it, so that properties run as copies too."""
        self.generic_visit(node)
        private = node.attr.startswith("__") and not node.attr.endswith("__")
        if private or not isinstance(node.ctx, ast.Load):
            # The compiler mangles a private name only where it is an attribute.
            return node
        return self._hook("get", node, [node.value, ast.Constant(node.attr)])

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Let hooks decide ``in`` and ``is``; a chain with one becomes a conjunction."""
        self.generic_visit(node)
        if not any(isinstance(op, ast.In | ast.NotIn | ast.Is | ast.IsNot) for op in node.ops):
            return node
        operands = [node.left, *node.comparators]
        links = [
            self._link(node, left, op, right)
            for left, op, right in zip(operands, node.ops, node.comparators, strict=False)
        ]
        if len(links) == 1:
            return links[0]
        return ast.copy_location(ast.BoolOp(ast.And(), links), node)

    def _link(self, at: ast.expr, left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.expr:
        if isinstance(op, ast.In | ast.NotIn):
            found: ast.expr = self._hook("contains", at, [left, right])
        elif isinstance(op, ast.Is | ast.IsNot):
            found = self._hook("same", at, [left, right])
        else:
            return ast.copy_location(ast.Compare(left, [op], [right]), at)
        if isinstance(op, ast.NotIn | ast.IsNot):
            found = ast.copy_location(ast.UnaryOp(ast.Not(), found), at)
        return found

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Let a hook take remainders, since ``%`` also formats texts."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Mod):
            return node
        return self._hook("modulo", node, [node.left, node.right])

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """Let a hook put formatted texts together."""
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.visit(part.value)
                spec = (
                    ast.Constant("") if part.format_spec is None else self.visit(part.format_spec)
                )
                parts.append(ast.Tuple([value, ast.Constant(part.conversion), spec], ast.Load()))
            else:
                parts.append(part)
        return self._hook("text", node, parts)

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        """Leave patterns alone: they hold no expressions that are evaluated freely."""
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        """Leave the dotted names of patterns alone."""
        return node
