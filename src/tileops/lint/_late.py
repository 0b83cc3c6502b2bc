"""Locals that change after a function that reads them was made.

Imported only where a slice was parsed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from tileops.lint._syntax import children, own, walk

__all__ = ["late_reads"]

_MUTATORS = frozenset(
    {"add", "append", "clear", "extend", "insert", "pop", "popitem", "remove", "setdefault"}
    | {"sort", "update"}
)
_PARTS = (cst.If, cst.Else, cst.Finally, cst.ExceptHandler, cst.ExceptStarHandler, cst.MatchCase)
Made = cst.Lambda | cst.FunctionDef


@dataclass(frozen=True, slots=True)
class _Closure:
    """A function made inside another, and the statements that can run once it exists."""

    made: Made
    after: tuple[cst.CSTNode, ...]


def late_reads(function: cst.FunctionDef) -> list[cst.Name]:
    """Return where kept local functions read locals that can still change, in source order."""
    found: list[cst.Name] = []
    kept = _kept(function)
    for closure in _closures(function.body.body, (), (), (), kept):
        changed = {name for node in closure.after for name in _changed(node)}
        read: set[str] = set()
        for node in _free(closure.made):
            if node.value in changed and node.value not in read:
                read.add(node.value)
                found.append(node)
    return found


def _closures(
    body: Sequence[cst.CSTNode],
    after: tuple[cst.CSTNode, ...],
    again: tuple[cst.CSTNode, ...],
    leave: tuple[cst.CSTNode, ...],
    kept: set[str],
) -> Iterator[_Closure]:
    """Yield the kept functions of a block.

    ``after`` runs when the block ends, ``again`` on ``continue`` and ``leave`` on ``break``.
    """
    statements: list[cst.CSTNode] = []
    for item in body:
        statements.extend(item.body if isinstance(item, cst.SimpleStatementLine) else [item])
    for position, node in enumerate(statements):
        rest = _rest(statements[position + 1 :], after, again, leave)
        match node:
            case cst.Return():
                continue
            case cst.FunctionDef(name=cst.Name(value=name)):
                if name in kept:
                    yield _Closure(node, rest)
            case cst.For(body=block) | cst.While(body=block):
                yield from _closures(block.body, (node, *rest), (node, *rest), rest, kept)
                if node.orelse is not None:
                    yield from _closures(node.orelse.body.body, rest, again, leave, kept)
            case cst.BaseCompoundStatement():
                for inner in _blocks(node):
                    yield from _closures(inner, rest, again, leave, kept)
            case _:
                for made in _stored(node, kept):
                    yield _Closure(made, rest)


def _rest(
    following: list[cst.CSTNode],
    after: tuple[cst.CSTNode, ...],
    again: tuple[cst.CSTNode, ...],
    leave: tuple[cst.CSTNode, ...],
) -> tuple[cst.CSTNode, ...]:
    """Return what runs after a statement: the block up to where it is left, and what follows."""
    taken: list[cst.CSTNode] = []
    for node in following:
        taken.append(node)
        match node:
            case cst.Return() | cst.Raise():
                return tuple(taken)
            case cst.Break():
                return (*taken, *leave)
            case cst.Continue():
                return (*taken, *again)
    return (*taken, *after)


def _blocks(node: cst.CSTNode) -> Iterator[Sequence[cst.CSTNode]]:
    """Yield the blocks of a compound statement that is no loop and no definition."""
    for part in children(node):
        if isinstance(part, cst.BaseSuite):
            yield part.body
        elif isinstance(part, _PARTS):
            yield from _blocks(part)


def _stored(node: cst.CSTNode, kept: set[str]) -> Iterator[cst.Lambda]:
    """Yield the lambdas a statement keeps: assigned or put into a display, not given to a call."""
    if isinstance(node, cst.Assign | cst.AnnAssign):
        targets = (
            [t.target for t in node.targets] if isinstance(node, cst.Assign) else [node.target]
        )
        names = {target.value for target in targets if isinstance(target, cst.Name)}
        if names and not names & kept:
            return
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, cst.Lambda):
            yield part
        elif not isinstance(part, cst.Call):
            stack.extend(reversed(children(part)))


def _kept(function: cst.FunctionDef) -> set[str]:
    """Return the names a function reads other than to call them."""
    called = {id(node.func) for node in own(function) if isinstance(node, cst.Call)}
    return {
        node.value
        for part in own(function)
        if not isinstance(part, cst.AssignTarget)
        for node in children(part)
        if isinstance(node, cst.Name) and id(node) not in called
    }


def _free(made: Made) -> Iterator[cst.Name]:
    """Yield the names the body of a function reads that are not its own."""
    params = made.params
    every = [*params.posonly_params, *params.params, *params.kwonly_params]
    bound = {param.name.value for param in every}
    bound |= {name for node in own(made) for name in _bound(node)}
    labels: set[int] = set()
    for node in walk(made.body):
        if isinstance(node, cst.Attribute):
            labels.add(id(node.attr))
        elif isinstance(node, cst.Arg):
            labels.add(id(node.keyword))
        elif isinstance(node, cst.Name) and node.value not in bound and id(node) not in labels:
            yield node


def _changed(node: cst.CSTNode) -> Iterator[str]:
    """Yield the locals that running a statement binds anew or changes in place."""
    stack = [node]
    while stack:
        part = stack.pop()
        yield from _bound(part)
        match part:
            case cst.Call(
                func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value=method))
            ):
                if method in _MUTATORS:
                    yield name
            case cst.AssignTarget(target=cst.Subscript(value=cst.Name(value=name))):
                yield name
        if not isinstance(part, Made | cst.ClassDef):
            stack.extend(children(part))


def _bound(node: cst.CSTNode) -> Iterator[str]:
    """Yield the names one node binds."""
    match node:
        case (
            cst.AssignTarget(target=target)
            | cst.AnnAssign(target=target)
            | cst.AugAssign(target=target)
            | cst.NamedExpr(target=target)
            | cst.For(target=target)
            | cst.CompFor(target=target)
            | cst.AsName(name=target)
        ):
            yield from _names(target)


def _names(target: cst.CSTNode) -> Iterator[str]:
    match target:
        case cst.Name(value=name):
            yield name
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                yield from _names(element.value)
        case cst.StarredElement(value=value):
            yield from _names(value)
